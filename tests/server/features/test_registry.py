"""The registration of resources, templates and prompts: each once, found again, and malformed ones refused."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from codesynapse.server.features.registry import Features, ResourceTemplate, blob_contents
from codesynapse.server.tools.registry import Toolbox
from tests.server.features.world import prompt, resource


async def nothing(*_: Any) -> list[Any]:
    return []


def template(text: str = "test://{name}/data", **more: Any) -> ResourceTemplate:
    shown = {"name": "n", "title": "T", "description": "D", "mime_type": "text/plain", "read": nothing}
    return ResourceTemplate(uri_template=text, **{**shown, **more})


@pytest.mark.parametrize("feature", [resource(), template(), prompt()])
def test_what_is_registered_twice_is_refused(feature: Any):
    features = Features(Toolbox())
    features.add(feature)
    with pytest.raises(ValueError, match="twice"):
        features.add(feature)


def test_a_uri_finds_its_resource_before_a_template_and_nothing_else():
    features = Features(Toolbox())
    one, of_form = resource("test://a/data"), template()
    features.add(of_form, one)
    assert features.find("test://a/data") == (one, {})
    assert features.find("test://b/data") == (of_form, {"name": "b"})
    assert features.find("test://b") is None


def test_a_template_completes_only_what_it_names():
    with pytest.raises(ValueError, match="does not name"):
        Features(Toolbox()).add(template(complete={"other": nothing}))


@pytest.mark.parametrize(
    ("feature", "capability"),
    [(resource(), "resources"), (template(), "resources"), (prompt(), "prompts"), (prompt(), "completions")],
)
def test_a_capability_is_there_with_the_first_of_its_kind(feature: Any, capability: str):
    features = Features(Toolbox())
    assert capability not in features.toolbox.catalog.capabilities()
    features.add(feature)
    assert capability in features.toolbox.catalog.capabilities()


def test_bytes_travel_as_base64():
    assert base64.b64decode(blob_contents("u", "image/png", b"\x00\xff")["blob"]) == b"\x00\xff"
