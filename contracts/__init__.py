"""What all parts agree on: the law, as pure functions over frozen values, and the ports that adapters fill.

Standard library and msgspec only; `plugin` and `suite`, which run the contract, may import pytest.
"""
