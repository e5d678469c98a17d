"""Which era a message belongs to, decided once: the session revisions, or the stateless ones since 2026-07-28.

Source: mcp.md, §0.7. A message is modern if its `_meta` names a protocol version, or if the header names a version
that has no sessions any more. Everything else belongs to the session revisions.
"""

import re
from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from codesynapse.server.mcp.messages import Message, Response

MODERN_VERSIONS: Final = ("2026-07-28",)
"""Revisions without sessions, newest first."""
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
_date = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII).fullmatch


class _Meta(Struct):
    version: Raw | UnsetType = field(default=UNSET, name=VERSION_KEY)


class _Params(Struct):
    _meta: _Meta | UnsetType = UNSET


_decode = msgspec.json.Decoder(_Params).decode


def named_modern(version: str | None) -> bool:
    """Whether a version header alone says that a request belongs to the stateless revisions, served or not."""
    return version is not None and _date(version) is not None and version >= MODERN_VERSIONS[-1]


def is_modern(message: Message, version: str | None) -> bool:
    """Whether a message belongs to the stateless revisions. version: what the version header says, if there is one."""
    if named_modern(version):
        return True
    if isinstance(message, Response):
        return False
    try:
        meta = _decode(message.params)._meta
    except msgspec.DecodeError:
        return False  # Its `_meta` is no object: whoever reads the parameters refuses it.
    return not isinstance(meta, UnsetType) and not isinstance(meta.version, UnsetType)
