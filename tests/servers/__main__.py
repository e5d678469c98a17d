"""`python -m tests.servers start|stop|status [NAME …]`, `… run NAME -- COMMAND`, `… tools`."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.servers import running, tools
from tests.servers.artifacts import WrongArtifacts
from tests.servers.kinds import KINDS, TESTED
from tests.servers.processes import NotStarted


def main(arguments: list[str]) -> int:
    """Do what was asked; errors are one line, or the end of a server's log."""
    action, names = (arguments or ["status"])[0], arguments[1:]
    try:
        match action:
            case "start":
                for name in names or list(TESTED):
                    print(f"{name} {running.ensure(name, running.BY_HAND).url}", flush=True)
            case "stop":
                for name in names or list(KINDS):
                    print(f"{name} {'stopped' if running.stop(name) else 'was not running'}")
            case "status":
                for name in names or list(KINDS):
                    record = running.status(name)
                    print(f"{name} {'not running' if record is None else f'{record.url} pid {record.pid}'}")
            case "run":
                return _run(names[0], names[names.index("--") + 1 :])
            case "tools":
                tools.require(install=True)
            case _:
                print(__doc__, file=sys.stderr)
                return 2
    except (tools.ToolsMissing, WrongArtifacts, NotStarted) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _run(name: str, command: list[str]) -> int:
    """Run a command beside a server, whose options the contract plugin finds in the environment."""
    record = running.ensure(name, running.myself())
    variable = "CODESYNAPSE_CONTRACT_" + KINDS[name].store.upper()
    try:
        given = ",".join(f"{key}={value}" for key, value in record.options.items())
        return subprocess.run(command, env={**os.environ, variable: given}).returncode
    finally:
        running.release(name, running.myself())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
