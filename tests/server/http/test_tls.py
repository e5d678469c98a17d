"""Where it may listen without protection, and what it says of a certificate that it cannot use."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from codesynapse.server.http.tls import tls_context
from codesynapse.server.settings import Settings, SettingsError


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "mem.example"])
def test_beyond_loopback_it_listens_only_with_protection(host: str):
    with pytest.raises(SettingsError, match="CODESYNAPSE_HOST"):
        tls_context(Settings(host=host))
    assert tls_context(Settings(host=host, insecure_http=True)) is None
    assert tls_context(Settings(host=host, trusted_proxy=True)) is None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "localhost", "::1"])
def test_on_loopback_it_needs_none(host: str):
    assert tls_context(Settings(host=host)) is None


@pytest.mark.parametrize("content", ["", "no certificate"])
def test_a_certificate_that_cannot_be_loaded_is_named(tmp_path: Path, content: str):
    (tmp_path / "cert.pem").write_text(content)
    for path in (tmp_path / "cert.pem", tmp_path / "nothing.pem"):
        with pytest.raises(SettingsError, match="CODESYNAPSE_TLS_CERT_FILE"):
            tls_context(Settings(tls_cert_file=str(path)))
    assert ssl.HAS_TLSv1_2
