"""Measurements beside a peer: one file a table. Nothing here is a test, and no test is judged by time."""
