"""URLs of a Gremlin endpoint."""

from __future__ import annotations

import pytest

from codesynapse.backends.hugegraph.address import Address, address_of
from codesynapse.contracts.errors import Invalid


def test_a_whole_url_is_taken_apart() -> None:
    found = address_of("hugegraph+https://ana%40x:p%2Fw%3A@[::1]:8443/my_graph?rest=http://h:8080&max_request=65536")
    assert found == Address(
        endpoint="https://[::1]:8443/gremlin", graph="my_graph", user="ana@x", password="p/w:", request_max=65_536
    )


def test_what_is_left_out_is_hugegraphs_default() -> None:
    found = address_of("hugegraph+http://localhost")
    assert found == Address(endpoint="http://localhost:8182/gremlin", graph="hugegraph", user="", password="")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://localhost",
        "hugegraph://localhost",
        "hugegraph+http://",
        "hugegraph+http://localhost:x",
        "hugegraph+http://localhost:99999",
        "hugegraph+http://localhost/a/b",
        "hugegraph+http://localhost/a'b",
        "hugegraph+http://localhost?graph=x",
        "hugegraph+http://localhost?max_request=1",
        "hugegraph+http://localhost?max_request=many",
    ],
)
def test_anything_else_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(Invalid) as refusal:
        address_of(url)
    assert refusal.value.field == "url"
    assert "localhost" not in str(refusal.value)
