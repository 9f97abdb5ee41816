"""Rules of use cases and their transactions: what is awaited inside, and what becomes of bumped token versions."""

import ast
from collections.abc import Iterator

from tests.test_architecture import functions_among, named, nodes_of, sources, trees

__all__ = ["trees"]  # forgets the trees at the end of this module, too


def test_inside_a_transaction_only_the_transaction_is_awaited() -> None:
    others = [
        f"{named(path)}:{awaited.lineno}: {ast.unparse(awaited.value)}"
        for path in sources("application")
        for block in nodes_of(path)
        if isinstance(block, ast.AsyncWith) and (names := transaction_names(block))
        for awaited in awaits(block)
        if not works_on(awaited.value, names)
    ]
    assert others == []


def test_a_function_with_a_transaction_awaits_nothing_else() -> None:
    others = [
        f"{named(path)}:{awaited.lineno}: {ast.unparse(awaited.value)}"
        for path in sources("application")
        for function in functions_among(nodes_of(path))
        if (names := names_that_stand_for(function))
        for awaited in ast.walk(function)
        if isinstance(awaited, ast.Await) and not names_in(awaited.value) & names
    ]
    assert others == []


def names_that_stand_for(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Parameters that are a transaction, and objects that are made with one: ``others = TransactionRows(tx, …)``."""
    given = {
        parameter.arg
        for parameter in function.args.args
        if parameter.annotation is not None and ast.unparse(parameter.annotation).endswith("Transaction")
    }
    made = {
        target.id
        for node in ast.walk(function)
        # not what is awaited: an answer of the transaction may be handed to anything
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and names_in(node.value) & given
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return given | made if given else set()


def names_in(expression: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def transaction_names(block: ast.AsyncWith) -> set[str]:
    """Names bound by ``async with self.database.transaction(…) as tx``: ``{"tx"}``."""
    return {
        item.optional_vars.id
        for item in block.items
        if isinstance(item.optional_vars, ast.Name)
        and isinstance(item.context_expr, ast.Call)
        and ast.unparse(item.context_expr.func).endswith(
            ("database.transaction", "database.read_only", "database.autocommit")
        )
    }


def awaits(block: ast.AsyncWith) -> Iterator[ast.Await]:
    return (node for statement in block.body for node in ast.walk(statement) if isinstance(node, ast.Await))


def works_on(call: ast.expr, names: set[str]) -> bool:
    """Whether the call is ``tx.users.add(…)``, or a function or method of a use case that is given ``tx``."""
    if not isinstance(call, ast.Call):
        return False
    first = call.args[0] if call.args else None
    is_own = isinstance(call.func, ast.Name) or ast.unparse(call.func).startswith("self.")
    is_given = isinstance(first, ast.Name) and first.id in names
    return (is_own and is_given) or ast.unparse(call.func).split(".")[0] in names


def test_versions_that_are_bumped_are_published() -> None:
    """Use cases hand new token versions to ``published.update``, or return them to the method that does."""
    forgotten = [
        f"{named(path)}:{bump.lineno}"
        for path in sources("application")
        for function in functions_among(nodes_of(path))
        for bump in calls_of("token_versions.bump", function)
        if id(bump) not in {id(node) for node in handed_on(function)}
    ]
    assert forgotten == []


def calls_of(name: str, inside: ast.AST) -> Iterator[ast.Call]:
    calls = (node for node in ast.walk(inside) if isinstance(node, ast.Call))
    return (call for call in calls if ast.unparse(call.func).endswith(name))


def handed_on(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """Expressions that are published, returned, or bound to a name that is returned or published."""
    passed = [
        *(argument for call in calls_of("published.update", function) for argument in call.args),
        *(node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value),
    ]
    names = {name for expression in passed for name in names_in(expression)}
    bound = (node for node in ast.walk(function) if isinstance(node, ast.Assign))
    passed += [node.value for node in bound if {ast.unparse(target) for target in node.targets} & names]
    return (node for expression in passed for node in ast.walk(expression))
