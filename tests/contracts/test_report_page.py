"""The page of a report is one file: nothing in it runs, nothing is fetched, and no text becomes markup."""

from __future__ import annotations

from html.parser import HTMLParser

import msgspec

from codesynapse.contracts.report import Case, Checked, Ran, Report, SuiteTest, checked
from codesynapse.contracts.report_page import as_page

HOSTILE = "</td></table><script>alert(1)</script><img src='//example.org/x' onerror=\"alert(2)\">&amp;"
TESTS = [
    SuiteTest(name="TestRevisions::test_another_revision_than_the_current_is_refused_with_the_current"),
    SuiteTest(name="TestFeatures::test_vectors_that_are_not_declared_are_absent", without=("vectors",)),
    SuiteTest(name="TestNearest::test_near", requires=("vectors",)),
]
VOID = {"meta", "br"}


class Page(HTMLParser):
    """Elements, attributes and texts of a page; fails where what was opened is not closed in turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def report(name: str = "mygraph", problem: str = "assert 1 == 2") -> Report:
    cases = {
        TESTS[0].name: [Case(result="failed", duration_ms=1_234.56, problem=problem)],
        TESTS[1].name: [Case(result="passed")],
    }
    ran = Ran(name=name, distribution=f"{name} 1.0", features={"vectors": False, "durable": False}, cases=cases)
    return Report(suite="1.0", started="2026-11-30T12:00:00+00:00", backends=(checked(ran, TESTS),))


def hostile_everywhere(report: Report) -> Report:
    """The report with the hostile text in every place that holds a text of somebody's."""

    def spoil(value: object) -> object:
        if isinstance(value, dict):
            fixed = ("format", "version", "result", "counts", "duration_ms", "cases")
            return {key: each if key in fixed else spoil(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [spoil(each) for each in value]
        return HOSTILE if isinstance(value, str) else value

    return msgspec.convert(spoil(msgspec.to_builtins(report)), Report)


def test_it_shows_every_promise_with_source_result_and_duration() -> None:
    text = as_page(report())
    for told in (
        "<code>store:revision-check</code>",
        "A store refuses a stale revision in its own transaction",
        "seed 0, Graph and vector schema; decision 15",
        '<td class="result failed">failed</td><td class="number">1,234.6</td>',
        "assert 1 == 2",
        "TestNearest::test_near (not declared: vectors)",
    ):
        assert told in text


def test_it_shows_what_is_declared_unsupported_and_what_proves_it() -> None:
    texts = "|".join(Page(as_page(report())).texts)
    assert "vectors|TestFeatures::test_vectors_that_are_not_declared_are_absent|passed" in texts
    assert "durable|no test: there is nothing to call" in texts


def test_a_partial_run_says_so() -> None:
    def page(*cases: Case) -> str:
        ran = Ran(name="x", distribution=None, features={"vectors": True}, cases={TESTS[2].name: cases})
        backend: Checked = checked(ran, [TESTS[2]])
        return as_page(Report(suite="1.0", started=None, backends=(backend,)))

    assert "What was not run is not shown to hold." in page()
    assert "What was not run" not in page(Case(result="passed"))


def test_hostile_texts_are_shown_and_do_nothing() -> None:
    usual, hostile = Page(as_page(report())), Page(as_page(hostile_everywhere(report())))
    assert hostile.elements == usual.elements
    assert hostile.attributes == usual.attributes
    assert sum(HOSTILE in text for text in hostile.texts) > 10


def test_nothing_runs_and_nothing_is_fetched() -> None:
    page = Page(as_page(report()))
    assert not {"script", "link", "img", "iframe", "object", "a", "form", "base"} & set(page.elements)
    assert not {name for name in page.attributes if name in ("src", "href", "style") or name.startswith("on")}
    style = "".join(text for text in page.texts if "@media" in text)
    assert "@media print" in style
    assert "url(" not in style
    assert "@import" not in style
