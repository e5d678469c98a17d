"""The report as one page: no script, nothing to fetch, and every text escaped."""

from collections.abc import Iterable, Iterator
from html import escape

from codesynapse.contracts.report import Checked, Report, Result, Row, TestRow, Undeclared

WORDS: dict[Result, str] = {
    "passed": "passed",
    "failed": "failed",
    "error": "error",
    "not_declared": "not declared",
    "not_run": "not run",
}
STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #1b1b1b; background: #fff }
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.25rem; margin-top: 2.5rem } h3 { font-size: 1rem; margin-top: 1.75rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid #ccc }
td { overflow-wrap: anywhere }
td.number { text-align: right; white-space: nowrap } td.result { white-space: nowrap; font-weight: 600 }
code, .test { font: 12px/1.4 ui-monospace, monospace } .test { color: #555 }
.passed { color: #17653a } .failed, .error { color: #a4161a } .not_declared, .not_run { color: #555 }
.problem { color: #a4161a; font: 12px/1.4 ui-monospace, monospace }
@media print {
  body { font-size: 10pt; max-width: none; margin: 0 }
  thead { display: table-header-group } tr { break-inside: avoid } h2, h3 { break-after: avoid }
}
"""
# The page may load nothing, whatever a mistake of ours would let into it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def as_page(report: Report) -> str:
    """The report as an HTML document."""
    names = ", ".join(backend.name for backend in report.backends)
    title = _text(f"Contract report: {names}")
    started = "" if report.started is None else f", started {_text(report.started)}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        f"<p>Contract suite of CodeSynapse {_text(report.suite)}{started}.</p>\n"
        + "".join(map(_backend, report.backends))
        + "</body>\n</html>\n"
    )


def _backend(backend: Checked) -> str:
    of = "" if backend.distribution is None else f" ({_text(backend.distribution)})"
    rows = _table(("Row", "Promise", "Source", "Result", "Duration, ms"), map(_row, backend.rows))
    return f"<h2>{_text(backend.name)}{of}</h2>\n{_counts(backend)}{_features(backend)}<h3>Promises</h3>\n{rows}"


def _counts(backend: Checked) -> str:
    counts = ", ".join(f"{count} {WORDS[result]}" for result, count in backend.counts.items() if count)
    partial = " What was not run is not shown to hold." if backend.counts["not_run"] else ""
    return f"<p>{len(backend.rows)} promises: {counts}.{partial}</p>\n"


def _features(backend: Checked) -> str:
    declared = ", ".join(map(_text, backend.declared)) or "nothing"
    text = f"<h3>Features</h3>\n<p>Declared: {declared}.</p>\n"
    if backend.undeclared:
        text += _table(("Declared unsupported", "Proved absent by", "Result"), map(_absent, backend.undeclared))
    return text


def _absent(undeclared: Undeclared) -> str:
    if undeclared.proof is None or undeclared.result is None:
        return f"<tr><td>{_text(undeclared.feature)}</td><td>no test: there is nothing to call</td><td></td></tr>\n"
    proof = f'<span class="test">{_text(undeclared.proof)}</span>'
    return f"<tr><td>{_text(undeclared.feature)}</td><td>{proof}</td>{_result(undeclared.result)}</tr>\n"


def _row(row: Row) -> str:
    key = "" if row.id is None else f"<code>{_text(row.id)}</code>"
    source = "the suite" if row.source is None else _text(row.source)
    promise = _text(row.promise) + "".join(_test(test) for test in row.tests)
    return (
        f"<tr><td>{key}</td><td>{promise}</td><td>{source}</td>{_result(row.result)}"
        f'<td class="number">{row.duration_ms:,.1f}</td></tr>\n'
    )


def _test(test: TestRow) -> str:
    told = "; ".join(_remarks(test))
    text = f'<br><span class="test">{_text(test.test)}{_text(told and f" ({told})")}</span>'
    if test.problem is not None:
        text += f'<br><span class="problem">{_text(test.problem)}</span>'
    return text


def _remarks(test: TestRow) -> Iterator[str]:
    if test.lacks:
        yield f"not declared: {', '.join(test.lacks)}"
    elif test.result != "passed":
        yield WORDS[test.result]
    if test.cases > 1:
        yield f"{test.cases} cases"


def _result(result: Result) -> str:
    return f'<td class="result {result}">{WORDS[result]}</td>'


def _table(columns: Iterable[str], rows: Iterable[str]) -> str:
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{''.join(rows)}</tbody>\n</table>\n"


def _text(text: str) -> str:
    return escape(text, quote=True)
