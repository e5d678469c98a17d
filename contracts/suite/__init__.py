"""The contract of every store, as tests: `from codesynapse.contracts.suite import *` in a test file runs them all.

How to name the backend is said in `codesynapse.contracts.plugin`; builders for one's own tests are in `worlds`.
"""

from codesynapse.contracts.suite.test_content import TestClosing, TestMalformedSnapshots, TestSize
from codesynapse.contracts.suite.test_endings import TestExpiry, TestRevival, TestRevocation, TestSweep
from codesynapse.contracts.suite.test_isolation import TestIsolation, TestIsolationOfEndings
from codesynapse.contracts.suite.test_limits import TestQuotas, TestQuotasUnderLoad, TestRetainedRoots
from codesynapse.contracts.suite.test_memory import TestCommitIds, TestRacingCommits, TestRevisions, TestSnapshots

__all__ = [
    "TestClosing",
    "TestCommitIds",
    "TestExpiry",
    "TestIsolation",
    "TestIsolationOfEndings",
    "TestMalformedSnapshots",
    "TestQuotas",
    "TestQuotasUnderLoad",
    "TestRacingCommits",
    "TestRetainedRoots",
    "TestRevisions",
    "TestRevival",
    "TestRevocation",
    "TestSize",
    "TestSnapshots",
    "TestSweep",
]
