"""The part of `doctor` that asks the embedder's endpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from codesynapse.contracts.errors import EmbedderDown, EmbedderMisconfigured, Unavailable
from codesynapse.server.cli.embedding import check_embedder, embedder_advice
from codesynapse.server.services import open_ports
from codesynapse.server.settings import Settings
from tests.embedding import DIMENSION, KEY, MODEL, EmbeddingEndpoint, embedding_endpoint
from tests.integration.harness import command


async def found(endpoint: EmbeddingEndpoint | None) -> list[tuple[str, str]]:
    """(level, text) of each finding."""
    named = {} if endpoint is None else endpoint.settings
    settings = Settings(graph="memory", accounts="memory", **named)  # type: ignore[arg-type]  # by name
    async with open_ports(settings) as ports:
        return [(each.level, each.text) for each in await check_embedder(ports.embedder)]


async def test_an_embedder_that_answers_is_well_and_none_is_nothing_to_tell() -> None:
    async with embedding_endpoint() as endpoint:
        assert await found(endpoint) == [("ok", f"{MODEL} answers with {DIMENSION} numbers")]
    assert await found(None) == []


async def test_a_dead_endpoint_is_to_be_started_and_a_wrong_setting_to_be_corrected() -> None:
    async with embedding_endpoint(key=KEY) as endpoint:
        ((level, text),) = await found(endpoint)
        assert (level, text) == ("problem", "the endpoint refuses the key; correct CODESYNAPSE_EMBEDDER_KEY_FILE")
        endpoint.key, endpoint.mode = "", "other dimension"
        ((_, text),) = await found(endpoint)
        assert "correct CODESYNAPSE_EMBEDDER_DIMENSION" in text
        await endpoint.die()
        ((_, text),) = await found(endpoint)
        assert text.startswith("the endpoint does not answer (UNREACHABLE); start it")


@pytest.mark.parametrize(
    ("kind", "cause", "says"),
    [
        (EmbedderMisconfigured, "HTTP_404", "has no such path or model"),
        (EmbedderMisconfigured, "TLS", "shows a certificate"),
        (EmbedderMisconfigured, "COUNT", "answers something else than embeddings (COUNT)"),
        (EmbedderDown, "HTTP_503", "does not answer (HTTP_503)"),
        (EmbedderDown, None, "does not answer (unknown)"),
    ],
)
def test_every_cause_becomes_one_line_of_advice(kind: type[Unavailable], cause: str | None, says: str) -> None:
    error = kind()
    error.cause = cause
    assert embedder_advice(error).startswith(says)
    assert ";" in embedder_advice(error)


async def test_doctor_tells_of_the_endpoint_and_of_settings_that_cannot_be_used(tmp_path: Path) -> None:
    async with embedding_endpoint() as endpoint:
        named = {f"CODESYNAPSE_{name.upper()}": str(value) for name, value in endpoint.settings.items()}
        assert (await command(tmp_path, "init"))[0] == 0
        _, said, _ = await command(tmp_path, "doctor", env=named)
        assert f"ok: embedder: {MODEL} answers with {DIMENSION} numbers" in said
        named["CODESYNAPSE_EMBEDDER_URL"] = "http://models.example/v1/embeddings"
        code, said, _ = await command(tmp_path, "doctor", env=named)
        assert (code, said.splitlines()[0].split(": ")[:3]) == (1, ["problem", "settings", "CODESYNAPSE_MODEL_HOSTS"])
