"""`python -m tests.backends.fuzz [--seed N] [--sequences N]`: drawn scripts on all stores until one disagrees.

A seed stands for a batch of scripts. Each batch that passed is a line; to go on after the last one, name the next seed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from codesynapse.contracts.suite.machine import Disagreement
from tests.backends.differential import SEQUENCES, SWEEPING, Arena, arena
from tests.servers import running
from tests.servers.artifacts import exclusively
from tests.servers.kinds import TESTED


def main(arguments: list[str]) -> int:
    """Play scripts on the servers of the tests, started unless they run; 1 at the first disagreement."""
    parser = argparse.ArgumentParser(prog="fuzz-stores", description=__doc__)
    parser.add_argument("--sequences", type=int, default=500, help=f"how many, in batches of {SEQUENCES}")
    parser.add_argument("--seed", type=int, default=1, help="of the first batch; the next ones follow")
    asked = parser.parse_args(arguments)
    servers = {name: running.ensure(name, running.myself()) for name in TESTED}
    try:
        with tempfile.TemporaryDirectory() as folder, arena(Path(folder), servers) as stores:
            return play(stores, asked.seed, asked.sequences)
    finally:
        for name in TESTED:
            running.release(name, running.myself())


def play(stores: Arena, first: int, sequences: int) -> int:
    """Batch after batch."""
    began_s = time.monotonic()
    batches = -(-sequences // SEQUENCES)
    for done, number in enumerate(range(first, first + batches)):
        try:
            compare_alone(stores, number)
        except (Disagreement, BaseExceptionGroup) as error:
            print(error, *getattr(error, "__notes__", ()), sep="\n")
            print(f"1 disagreement, after {done * SEQUENCES} sequences without any from seed {first} on.")
            return 1
        took_s = time.monotonic() - began_s
        print(f"seed {number}: {(done + 1) * SEQUENCES} sequences, 0 disagreements, {took_s:.0f} s", flush=True)
    return 0


def compare_alone(stores: Arena, number: int) -> None:
    """Play a seed's scripts; those that sweep while no test uses the servers."""
    with ExitStack() as stack:
        if number % SWEEPING == 0:
            for name in TESTED:
                stack.enter_context(exclusively(f"sweeping-{name}"))
        stores.compare(number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
