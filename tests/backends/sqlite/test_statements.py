"""SQL statements are constants: whatever a caller sent reaches them by parameters alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ADAPTER = Path(__file__).parents[3] / "backends" / "sqlite"
# Names that run through our own constants: the pragmas of a connection and what it passes on, the statements of
# schema.sql, those of the stages of a scan and of the two kinds of caps and commits.
OURS = {
    ("connection.py", "sql"),
    ("connection.py", "pragma"),
    ("migrate.py", "statement"),
    ("portable.py", "statement"),
    ("portable.py", "held"),
    ("portable.py", "write"),
}


def executed(tree: ast.Module) -> Iterator[ast.expr]:
    """The first argument of each execute and executemany."""
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in ("execute", "executemany", "executescript"):
            assert isinstance(node, ast.Call)
            yield node.args[0]


def constants(tree: ast.Module) -> set[str]:
    """The names at the top of a module whose values are put together from literals, and from such names."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets):
            parts = [part for part in ast.walk(node.value) if isinstance(part, ast.expr)]
            plain = (ast.Constant, ast.BinOp, ast.JoinedStr, ast.FormattedValue)
            if all(isinstance(part, plain) or (isinstance(part, ast.Name) and part.id in found) for part in parts):
                found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def foreign(name: str, text: str) -> list[str]:
    """The statements of a module that are no constants."""
    tree = ast.parse(text)
    known = constants(tree)
    return [
        f"{name}: {ast.unparse(statement)}"
        for statement in executed(tree)
        if not isinstance(statement, ast.Constant)
        and not (isinstance(statement, ast.Name) and (statement.id in known or (name, statement.id) in OURS))
    ]


def test_every_statement_of_the_adapter_is_a_constant() -> None:
    files = sorted(ADAPTER.glob("*.py"))
    assert sum(len(list(executed(ast.parse(file.read_text(encoding="utf-8"))))) for file in files) > 50
    assert [each for file in files for each in foreign(file.name, file.read_text(encoding="utf-8"))] == []


def test_the_search_finds_a_statement_that_is_put_together() -> None:
    head = '_A = "SELECT 1"\n_B = f"{_A} WHERE"\n'
    assert foreign("x.py", head + 'c.execute(_B)\nc.execute("SELECT 2", (x,))\n') == []
    for wrong in ('c.execute(f"SELECT {x}")', 'c.execute("SELECT " + x)', "c.execute(x)", "c.execute(_A.format(x))"):
        assert len(foreign("x.py", head + wrong)) == 1
