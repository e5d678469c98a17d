"""Declared hints (seed 1): which in-process bucket a call lands in. They never authorise and never filter."""
