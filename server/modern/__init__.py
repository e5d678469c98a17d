"""The stateless revisions, for both shells: one request in, its answer out, and nothing remembered in between."""
