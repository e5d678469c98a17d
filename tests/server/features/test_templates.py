"""URI templates: what expands is matched again, and what is of another form is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesynapse.server.features.templates import URI_MAX, Template

QUERIED = Template("codesynapse://repository/{repository}{?node,depth}")
NO_SURROGATES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(NO_SURROGATES, NO_SURROGATES, st.sampled_from(["1", "2"]))
def test_what_is_expanded_is_matched_to_the_same_values(repository: str, node: str, depth: str):
    variables = {"repository": repository, "node": node, "depth": depth}
    assert QUERIED.variables(QUERIED.expand(variables)) == variables


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("codesynapse://repository/a", {"repository": "a"}),
        ("codesynapse://repository/a?depth=2&node=b%20c", {"repository": "a", "depth": "2", "node": "b c"}),
        ("codesynapse://repository/a%2Fb", {"repository": "a/b"}),
        ("codesynapse://repository/", None),
        ("codesynapse://repository/a/b", None),
        ("codesynapse://repository/a?", None),
        ("codesynapse://repository/a?other=1", None),
        ("codesynapse://repository/a?node=1&node=2", None),
        ("codesynapse://repository/a?node", None),
        ("codesynapse://repository/a#b", None),
        ("codesynapse://repository/%FF", None),
        ("codesynapse://repository/é", None),
        ("codesynapse://repository/a\n", None),
        ("CODESYNAPSE://repository/a", None),
        ("", None),
        ("codesynapse://repository/" + "a" * URI_MAX, None),
    ],
)
def test_a_uri_is_of_the_template_or_not(uri: str, found: dict[str, str] | None):
    assert QUERIED.variables(uri) == found


def test_a_template_without_a_query_takes_none():
    template = Template("test://template/{id}/data")
    assert template.variables("test://template/123/data") == {"id": "123"}
    assert template.variables("test://template/123/data?id=1") is None


@pytest.mark.parametrize("text", ["a{", "a}", "{+path}", "{a,b}", "{?a}/b", "{A}", "{}"])
def test_a_form_that_is_not_known_here_is_refused(text: str):
    with pytest.raises(ValueError, match="not one of ours"):
        Template(text)
