"""TLS of the listening socket, and the refusal to listen beyond loopback without any protection."""

import ssl

from codesynapse.server.settings import Settings, SettingsError


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """The TLS that the settings ask for. Raises SettingsError for a bind beyond loopback without protection."""
    if settings.tls_cert_file:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(settings.tls_cert_file, settings.tls_key_file or None)
        except (OSError, ssl.SSLError):
            raise SettingsError("CODESYNAPSE_TLS_CERT_FILE, CODESYNAPSE_TLS_KEY_FILE: cannot be loaded.") from None
        return context
    if not settings.loopback and not settings.trusted_proxy and not settings.insecure_http:
        raise SettingsError(
            "CODESYNAPSE_HOST: listening beyond loopback needs TLS (CODESYNAPSE_TLS_CERT_FILE), a trusted proxy in "
            "front (CODESYNAPSE_TRUSTED_PROXY), or --insecure-http."
        )
    return None
