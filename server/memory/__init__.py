"""Services over graph memory. Every one takes an `Execution` first."""
