"""The contract of every store, as tests: `from codesynapse.contracts.suite import *` in a test file runs them all.

How to name the backend is said in `codesynapse.contracts.plugin`; builders for one's own tests are in `worlds` and
`organizations`.
"""

from codesynapse.contracts.suite.test_accounts import TestAuthority, TestDirectory, TestGrants, TestRecheck
from codesynapse.contracts.suite.test_agents import TestAgentGrants, TestAgentSettings, TestForeseeing, TestMemories
from codesynapse.contracts.suite.test_agents_audit import TestAgentAudit
from codesynapse.contracts.suite.test_agents_many import TestMerging, TestMovingAgents, TestPurging
from codesynapse.contracts.suite.test_agents_queue import TestAgentChecks, TestAgentQueue, TestOnce
from codesynapse.contracts.suite.test_agents_racing import TestDuplicates, TestLocks
from codesynapse.contracts.suite.test_agents_recall import TestAgentIsolation, TestAxes, TestRecall
from codesynapse.contracts.suite.test_content import TestClosing, TestMalformedSnapshots, TestSize
from codesynapse.contracts.suite.test_endings import TestExpiry, TestRevival, TestRevocation, TestSweep
from codesynapse.contracts.suite.test_isolation import TestIsolation, TestIsolationOfEndings
from codesynapse.contracts.suite.test_limits import TestQuotas, TestQuotasUnderLoad, TestRetainedRoots
from codesynapse.contracts.suite.test_memory import TestCommitIds, TestRacingCommits, TestRevisions, TestSnapshots
from codesynapse.contracts.suite.test_model import TestAgainstTheLaw
from codesynapse.contracts.suite.test_portable import TestMovingSessions, TestScanning
from codesynapse.contracts.suite.test_portable_repository import TestMovingRepositories
from codesynapse.contracts.suite.test_registry import (
    TestBindingTombstones,
    TestOwedCleanups,
    TestRegistration,
    TestRegistryCaps,
)
from codesynapse.contracts.suite.test_reopening import TestFeatures, TestReopening
from codesynapse.contracts.suite.test_repository import (
    TestRepositoryCommits,
    TestRepositoryIsolation,
    TestRepositoryQuotas,
)
from codesynapse.contracts.suite.test_repository_search import TestCandidates, TestNodes, TestSlices, TestTouching
from codesynapse.contracts.suite.test_transports import TestTransportCaps, TestTransportEndings, TestTransports
from codesynapse.contracts.suite.test_vectors import TestForeignHits, TestNearest, TestRemovedVectors

__all__ = [
    "TestAgainstTheLaw",
    "TestAgentAudit",
    "TestAgentChecks",
    "TestAgentGrants",
    "TestAgentIsolation",
    "TestAgentQueue",
    "TestAgentSettings",
    "TestAuthority",
    "TestAxes",
    "TestBindingTombstones",
    "TestCandidates",
    "TestClosing",
    "TestCommitIds",
    "TestDirectory",
    "TestDuplicates",
    "TestExpiry",
    "TestFeatures",
    "TestForeignHits",
    "TestForeseeing",
    "TestGrants",
    "TestIsolation",
    "TestIsolationOfEndings",
    "TestLocks",
    "TestMalformedSnapshots",
    "TestMemories",
    "TestMerging",
    "TestMovingAgents",
    "TestMovingRepositories",
    "TestMovingSessions",
    "TestNearest",
    "TestNodes",
    "TestOnce",
    "TestOwedCleanups",
    "TestPurging",
    "TestQuotas",
    "TestQuotasUnderLoad",
    "TestRacingCommits",
    "TestRecall",
    "TestRecheck",
    "TestRegistration",
    "TestRegistryCaps",
    "TestRemovedVectors",
    "TestReopening",
    "TestRepositoryCommits",
    "TestRepositoryIsolation",
    "TestRepositoryQuotas",
    "TestRetainedRoots",
    "TestRevisions",
    "TestRevival",
    "TestRevocation",
    "TestScanning",
    "TestSize",
    "TestSlices",
    "TestSnapshots",
    "TestSweep",
    "TestTouching",
    "TestTransportCaps",
    "TestTransportEndings",
    "TestTransports",
]
