"""The protocol core: what a connection may say, as data. No I/O and no clock; the shells feed and drain it."""
