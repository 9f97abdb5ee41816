"""Every use case that ends a membership releases the rows that name the member first."""

import ast

from tests.test_architecture import functions, sources, tree_of

ENDS = {("memberships", "remove"), ("users", "remove")}


def calls(function: ast.AST) -> list[tuple[str, str]]:
    """Calls on an attribute, ``("memberships", "remove")``, in the order of the source."""
    found = [
        (node.lineno, (node.func.value.attr, node.func.attr))
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Attribute)
    ]
    return [call for _, call in sorted(found)]


def ended(called: list[tuple[str, str]]) -> tuple[int, int]:
    """Number of ends, and of those that do not follow a release of their own."""
    released, missed, ends = 0, 0, 0
    for call in called:
        released += call == ("departures", "release")
        if call in ENDS:
            ends += 1
            missed += released == 0
            released -= released > 0
    return ends, missed


def test_each_end_of_a_membership_follows_a_release() -> None:
    found = {
        f"{path.stem}.{function.name}": ended(calls(function))
        for path in sources("application")
        for function in functions(tree_of(path))
    }
    ends = {name: missed for name, (number, missed) in found.items() if number}
    assert ends == {
        "memberships.remove": 0,
        "users._remove": 0,
        "ownership.leave": 0,
        "account_deletion.delete": 0,
    }


def test_an_end_without_a_release_is_found() -> None:
    source = "async def leave(self, tx):\n await tx.memberships.remove(1, 2)\n await self.departures.release(tx)"
    assert ended(calls(ast.parse(source))) == (1, 1)
