"""URI templates (RFC 6570), as far as resources need them: `{name}` in the path, and one `{?name,other}` at the end."""

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote_to_bytes

URI_MAX = 2_048
# What stands in no URI, and the beginning of a fragment, which is none of ours.
_foreign = re.compile(r"[^!-~]|#").search
_expressions = re.compile(r"\{(\??)([a-z_]+(?:,[a-z_]+)*)\}")


class Template:
    """One template. Raises ValueError for an expression that is not known here."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: list[str] = []
        self._queried: list[str] = []
        pattern, end = "", 0
        for found in _expressions.finditer(text):
            pattern += re.escape(text[end : found.start()])
            end = found.end()
            names = found[2].split(",")
            if found[1] and end == len(text):
                self._queried = names
            elif found[1] or len(names) > 1:
                raise ValueError(f"the template {text} is not one of ours")
            else:
                pattern += rf"(?P<{names[0]}>[^/?#]+)"
            self.names += names
        pattern += re.escape(text[end:])
        if "{" in _expressions.sub("", text) or "}" in _expressions.sub("", text):
            raise ValueError(f"the template {text} is not one of ours")
        self._match = re.compile(pattern).fullmatch

    def variables(self, uri: str) -> dict[str, str] | None:
        """The variables of a URI, decoded; None where it is not of this template. Queried ones may be missing."""
        if len(uri) > URI_MAX or _foreign(uri):
            return None
        path, mark, query = uri.partition("?") if self._queried else (uri, "", "")
        match = self._match(path)
        if match is None:
            return None
        raw = dict(match.groupdict())
        for pair in query.split("&") if mark else []:
            name, equals, value = pair.partition("=")
            if name not in self._queried or name in raw or not equals:
                return None
            raw[name] = value
        return _decoded(raw)

    def expand(self, variables: Mapping[str, str]) -> str:
        """The URI with these values; queried ones that are missing are left out."""

        def part(found: re.Match[str]) -> str:
            names = found[2].split(",")
            if not found[1]:
                return quote(variables[names[0]], safe="")
            pairs = [f"{name}={quote(variables[name], safe='')}" for name in names if name in variables]
            return "?" + "&".join(pairs) if pairs else ""

        return _expressions.sub(part, self.text)


def _decoded(raw: Mapping[str, str]) -> dict[str, str] | None:
    try:
        return {name: unquote_to_bytes(value).decode() for name, value in raw.items()}
    except UnicodeDecodeError:
        return None
