"""Where a session's id may come from: the runtime supplies it, nothing ever stands in for it (seed 0)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def calls_of(path: Path, attribute: str) -> list[ast.Call]:
    """Calls of `….attribute(…)` in a file."""
    return [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == attribute
    ]


def owner_of(call: ast.Call) -> str:
    assert isinstance(call.func, ast.Attribute)
    return ast.unparse(call.func.value)


def test_only_the_registry_creates_session_rows_and_passes_its_parameter_on():
    places = {
        path.relative_to(ROOT).as_posix(): [owner_of(call) for call in calls_of(path, "register")]
        for path in sorted((ROOT / "server").rglob("*.py"))
        if calls_of(path, "register")
    }
    registering = {path for path, owners in places.items() if any("accounts" in owner for owner in owners)}
    assert registering == {"server/sessions/registry.py"}
    (call,) = list(calls_of(ROOT / "server/sessions/registry.py", "register"))
    assert ast.unparse(call.args[1]) == "session_id"


def test_the_registrys_id_is_the_callers_parameter_and_is_never_assigned():
    tree = ast.parse((ROOT / "server/sessions/registry.py").read_text())
    (register,) = [
        node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef) and node.name == "register"
    ]
    assert "session_id" in [argument.arg for argument in register.args.args]
    stored = [node.id for node in ast.walk(register) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    assert "session_id" not in stored


MAKERS = {"uuid", "uuid4", "secrets", "token_hex", "token_urlsafe", "time", "time_ns", "clock", "random", "hash", "id"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def names_in(node: ast.AST) -> set[str]:
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return found | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


def registrations(source: str) -> list[tuple[ast.AST, ast.Call]]:
    """Every call of `….sessions.register(…)` or `….accounts.register(…)`, and the function that it stands in."""
    found: list[tuple[ast.AST, ast.Call]] = []

    def visit(node: ast.AST, function: ast.AST) -> None:
        function = node if isinstance(node, FUNCTIONS) else function
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "register"
            and owner_of(node).rpartition(".")[2].lstrip("_") in ("sessions", "accounts")
        ):
            found.append((function, node))
        for child in ast.iter_child_nodes(node):
            visit(child, function)

    tree = ast.parse(source)
    visit(tree, tree)
    return found


def passes_it_through(function: ast.AST, call: ast.Call) -> bool:
    """Whether the id is a parameter of the function, or `session_id` of its parsed body, and never anything else."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "session_id"]
    given = [*call.args[1:2], *named]
    if (
        len(given) != 1
        or any(isinstance(each, ast.Starred) for each in call.args)
        or not isinstance(function, FUNCTIONS)
    ):
        return False
    stored = [each for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
    match given[0]:
        case ast.Name(id=name):
            arguments = function.args
            parameters = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
            return name in parameters and name not in {each.id for each in stored}
        case ast.Attribute(value=ast.Name(id="body"), attr="session_id"):
            assigned = [
                ast.unparse(each.value)
                for each in ast.walk(function)
                if isinstance(each, ast.Assign) and names_in(ast.Tuple(each.targets, ast.Store())) & {"body"}
            ]
            once = [each.id for each in stored].count("body") == 1
            return once and assigned == ["await self._body(request, _principal(authority.caller), SessionBody)"]
    return False


def test_every_caller_of_the_registry_passes_an_id_that_nothing_made():
    found = {
        path.relative_to(ROOT).as_posix(): registrations(path.read_text())
        for path in sorted((ROOT / "server").rglob("*.py"))
    }
    calls = [(path, function, call) for path, all_of in found.items() for function, call in all_of]
    assert [ast.unparse(call) for _, function, call in calls if not passes_it_through(function, call)] == []
    assert {path for path, _, _ in calls} == {
        "server/cli/admin.py",
        "server/http/api.py",
        "server/sessions/registry.py",
    }


def in_a_function(*lines: str, parameters: str = "self, caller, session_id, request") -> str:
    return "\n    ".join([f"async def register({parameters}):", *lines])


PARSED = "body = await self._body(request, _principal(authority.caller), SessionBody)"


@pytest.mark.parametrize(
    "source",
    [
        in_a_function("await sessions.register(caller, session_id)"),
        in_a_function("await running.sessions.register(caller, session_id)"),
        in_a_function("await self._accounts.register(caller, session_id=session_id)"),
        in_a_function(PARSED, "await self._sessions.register(caller, body.session_id)"),
    ],
)
def test_an_id_that_is_passed_through_is_no_made_one(source: str):
    ((function, call),) = registrations(source)
    assert passes_it_through(function, call)


@pytest.mark.parametrize(
    "source",
    [
        in_a_function("made = 'x' + uuid.uuid4().hex", "await sessions.register(caller, made)"),
        in_a_function("await sessions.register(caller, uuid4().hex)"),
        in_a_function("await sessions.register(caller, session_id or uuid4().hex)"),
        in_a_function("await sessions.register(caller, f'x{session_id}')"),
        in_a_function("await sessions.register(caller, 'fixed')"),
        in_a_function("session_id = uuid4().hex", "await sessions.register(caller, session_id)"),
        in_a_function("await sessions.register(caller, (session_id := uuid4().hex))"),
        in_a_function("for session_id in made:", "    await sessions.register(caller, session_id)"),
        in_a_function("await sessions.register(*made)"),
        in_a_function("await sessions.register(caller)"),
        in_a_function("await sessions.register(caller, **made)"),
        in_a_function("await sessions.register(caller, session_id=made)"),
        in_a_function("await sessions.register(caller, self.session_id)"),
        in_a_function("await sessions.register(caller, body.session_id)"),
        in_a_function("body = SessionBody(uuid4().hex)", "await sessions.register(caller, body.session_id)"),
        in_a_function(PARSED, "body = made", "await sessions.register(caller, body.session_id)"),
        in_a_function(PARSED, "body.session_id = uuid4().hex", "await sessions.register(caller, body.session_id)"),
        in_a_function("await sessions.register(caller, session_id)", parameters="self, caller"),
        "made = uuid4().hex\nsessions.register(caller, made)",
    ],
)
def test_a_planted_id_is_found(source: str):
    ((function, call),) = registrations(source)
    assert not passes_it_through(function, call)


def test_stores_and_law_make_no_session_id():
    # The one place that builds an Identity for a registration takes the id as it was passed.
    for path in [*(ROOT / "backends").rglob("*.py"), ROOT / "contracts/binding.py", ROOT / "contracts/accounts.py"]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg in ("session_id", "parent_session_id"):
                assert not names_in(node.value) & (MAKERS - {"id"}), f"{path.name}: {ast.unparse(node.value)}"
