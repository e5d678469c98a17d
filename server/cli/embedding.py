"""The part of `doctor` that asks the embedder's endpoint for a vector, and says what to correct."""

from codesynapse.backends.embedders import examine
from codesynapse.contracts.embedding import Embedder
from codesynapse.contracts.errors import EmbedderMisconfigured, Unavailable
from codesynapse.server.cli.findings import Finding, ok, problem

_ADVICE = {
    "TLS": "shows a certificate that is not trusted; correct it, or the host in CODESYNAPSE_EMBEDDER_URL",
    "HTTP_401": "refuses the key; correct CODESYNAPSE_EMBEDDER_KEY_FILE",
    "HTTP_403": "refuses the key; correct CODESYNAPSE_EMBEDDER_KEY_FILE",
    "HTTP_404": "has no such path or model; correct CODESYNAPSE_EMBEDDER_URL or CODESYNAPSE_EMBEDDER_MODEL",
    "DIMENSION": "answers vectors of another length; correct CODESYNAPSE_EMBEDDER_DIMENSION, or the model",
}
_ELSE_WRONG = (
    "answers something else than embeddings ({}); correct CODESYNAPSE_EMBEDDER_URL or CODESYNAPSE_EMBEDDER_MODEL"
)
_ELSE_DOWN = "does not answer ({}); start it, look at its log, or correct CODESYNAPSE_EMBEDDER_URL"


async def check_embedder(embedder: Embedder | None) -> list[Finding]:
    """Whether the embedder answers a word of no meaning; nothing is said where there is none.

    Until then recall goes by words, so that a problem here is one of quality alone.
    """
    if embedder is None:
        return []
    try:
        await examine(embedder)
    except Unavailable as error:
        return [problem("embedder", f"the endpoint {embedder_advice(error)}")]
    return [ok("embedder", f"{embedder.name} answers with {embedder.dimension} numbers")]


def embedder_advice(error: Unavailable) -> str:
    """What to do about an error of an embedder, in one line."""
    cause = error.cause or "unknown"
    form = _ELSE_WRONG if isinstance(error, EmbedderMisconfigured) else _ELSE_DOWN
    return _ADVICE.get(cause, form.format(cause))
