"""The contract suite on the stores of this repository, which pyproject.toml names in `contract_backends`."""

from codesynapse.contracts.suite import *  # noqa: F403
