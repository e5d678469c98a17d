"""What others say of the server: the official conformance suite, an auditor, and the clients that people have."""
