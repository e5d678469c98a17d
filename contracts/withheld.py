"""What a report that is published does not say: what a backend was opened with, other credentials, and what is no text.

A driver puts the address that it was given into its messages, password included, and a name of an entry point may be
anything. What is put into a report goes through here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, quote, unquote, urlsplit

TEXT_MAX = 300
"""Characters of one text of a report."""

HIDDEN = "…"

# Shorter values, such as a number of seconds, stand inside of other words.
WORD_MAX = 3

# A URL from its scheme on, with what stands before it; "password=…" and its like, up to the next space.
_urls = re.compile(r"[a-z][a-z0-9+.-]*://\S*", re.IGNORECASE)
_named = re.compile(
    r"\b(pass\w*|pwd|secret\w*|token\w*|api[_-]?key\w*|auth\w*|credential\w*)(['\"]?\s*[=:]\s*)"
    r"(?:(?:basic|bearer)\s+)?\S+",
    re.IGNORECASE,
)
# Control characters, what turns the direction of writing, and halves of characters, which no encoding can write.
_no_text = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def plain(text: str) -> str:
    """One line that can be written anywhere: at most TEXT_MAX characters, each of them visible or a space."""
    line = _no_text.sub("\ufffd", text)
    return line if len(line) <= TEXT_MAX else line[: TEXT_MAX - 1] + HIDDEN


def without_secrets(text: str, options: Mapping[str, str]) -> str:
    """The text with every value of the options, each part of a value that is a URL, and other credentials hidden."""
    words = {form for value in options.values() for part in _parts(value) for form in _forms(part)}
    # The longest first, so that no value is left in pieces behind a shorter one.
    for word in sorted(words, key=len, reverse=True):
        found = re.escape(word)
        if len(word) <= WORD_MAX:
            found = rf"(?<!\w){found}(?!\w)"
        text = re.sub(found, HIDDEN, text, flags=re.IGNORECASE)
    return _named.sub(rf"\1\2{HIDDEN}", _urls.sub(HIDDEN, text))


def _parts(value: str) -> Iterator[str]:
    """A value, and what a URL is made of."""
    yield value
    try:
        url = urlsplit(value)
        address = (url.hostname, url.netloc.rpartition("@")[2])
    except ValueError:
        return
    if url.netloc:
        yield from (part for part in (url.netloc, url.username, url.password, url.path, *address) if part)
        yield from (part for _, part in parse_qsl(url.query))


def _forms(part: str) -> Iterator[str]:
    """A part as it is, and as a message may write it: quoted for a URL, for Python or for JSON."""
    for form in (part, unquote(part), quote(unquote(part), safe=""), repr(part)[1:-1], json.dumps(part)[1:-1]):
        if form.strip(" /"):
            yield form
