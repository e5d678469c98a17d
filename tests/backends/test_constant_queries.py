"""What is sent to a graph store as a program is written down here, whole; what varies goes beside it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

BACKENDS = Path(__file__).parents[2] / "backends"
SENDING = {"rows", "run", "run_once", "run_until_reached"}
"""The methods whose first argument is a statement or a script."""
# What may stand there: a constant by its name, a choice between two such, or the parameter that hands one on.
CONSTANT = (ast.Name, ast.Attribute, ast.Constant)


def sent(folder: str) -> Iterator[tuple[str, ast.expr]]:
    """Every first argument of a call that sends, with its place."""
    for path in sorted((BACKENDS / folder).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SENDING:
                for argument in node.args[:1]:
                    yield f"{path.name}:{node.lineno}", argument


def is_constant(argument: ast.expr) -> bool:
    if isinstance(argument, ast.IfExp):
        return is_constant(argument.body) and is_constant(argument.orelse)
    if isinstance(argument, ast.Call):  # Query(statement, timeout=…), of the driver.
        return isinstance(argument.func, ast.Name) and argument.func.id == "Query" and is_constant(argument.args[0])
    return isinstance(argument, CONSTANT)


@pytest.mark.parametrize(("folder", "least"), [("neo4j", 25), ("hugegraph", 10)])
def test_no_statement_of_a_graph_store_is_put_together_from_values(folder: str, least: int) -> None:
    found = list(sent(folder))
    assert len(found) >= least
    assert [place for place, argument in found if not is_constant(argument)] == []


@pytest.mark.parametrize(
    "module", ["neo4j/queries.py", "neo4j/memory_queries.py", "neo4j/moving_queries.py", "hugegraph/scripts.py"]
)
def test_the_modules_of_statements_hold_constants_made_of_constants(module: str) -> None:
    tree = ast.parse((BACKENDS / module).read_text(encoding="utf-8"))
    assert not [node.lineno for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assigned = [node.value for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign) and node.value]
    assert assigned
    calls = [call for value in assigned for call in ast.walk(value) if isinstance(call, ast.Call)]
    # A constant may be another with some of its words replaced.
    assert all(isinstance(call.func, ast.Attribute) and call.func.attr in ("replace", "join") for call in calls)


@pytest.mark.parametrize("text", ["rows(f'{x}')", "rows('a' + x)", "rows('{}'.format(x))", "rows(made(x))"])
def test_one_that_is_put_together_would_be_found(text: str) -> None:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert not is_constant(call.args[0])
