"""`python -m tests.fuzz [--cpu-s N] [--seed N]`: drawn bytes into every reader, until one fails or the time is up.

Each round is a line. To see a failure again, name the seed of its round.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from pathlib import Path

from tests.fuzz.playing import BATCH, play
from tests.fuzz.targets import TARGETS

ROUND = BATCH
GROWTH_KB = 64 * 1024
"""How much more memory than after the third round the last may use; hypothesis itself keeps some."""
WARM = 3


def main(arguments: list[str]) -> int:
    """Round after round of all targets; 1 at the first failure."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--cpu-s", type=float, default=600, help="seconds of CPU")
    parser.add_argument("--seed", type=int, default=None, help="of the first round; the next ones follow")
    asked = parser.parse_args(arguments)
    first = secrets.randbelow(10**6) if asked.seed is None else asked.seed
    number, warm_kb = 0, 0
    while time.process_time() < asked.cpu_s:
        for name in TARGETS:
            try:
                play(name, examples=ROUND, first_seed=first + number)
            except BaseException:
                print(f"{name} failed in the round of --seed {first + number}", file=sys.stderr)
                raise
        number += 1
        used_kb = resident_kb()
        warm_kb = used_kb if number <= WARM else warm_kb
        done = number * ROUND * len(TARGETS)
        print(f"seed {first + number - 1}: {done} examples, {time.process_time():.0f} s CPU, {used_kb} KB", flush=True)
        if used_kb > warm_kb + GROWTH_KB:
            print(f"The memory grew from {warm_kb} to {used_kb} KB.", file=sys.stderr)
            return 1
    return 0


def resident_kb() -> int:
    """Of this process."""
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
