"""Every method of a port is called by a contract test, on something that is this port and no other."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain

from tests.test_architecture import LAYERS, ROOT, functions, functions_among, nodes_of, ports, sources, tree_of, trees

__all__ = ["trees"]  # a fixture

Function = ast.FunctionDef | ast.AsyncFunctionDef
Names = Mapping[str, set[str]]
"""Names of classes by the variable, attribute or function that gives an object of them."""

FILES = [*sources(*LAYERS, "tests/contracts"), *sorted(ROOT.glob("tests/*.py")), *sources("tests/servers")]


def test_every_port_method_is_called_by_a_contract_test() -> None:
    called = called_methods([tree_of(path) for path in FILES if "contracts" in path.parts])
    missing = [f"{port.name}.{method}" for port in ports() for method in methods(port)]
    assert [name for name in missing if name not in called] == []


def test_a_call_counts_only_for_its_port() -> None:
    """``add`` is a method of many ports; a call of it on one of them says nothing of the others."""
    test = ast.parse(
        "async def test_them(tx: Transaction, roles: MemoryRoles):\n tx.users.add(User())\n roles.add(ROLE)"
    )
    assert called_methods([test]) == {"Users.add", "Roles.add"}


def called_methods(tests: list[ast.Module]) -> set[str]:
    """Methods of ports that are called, ``{"Users.add"}``; a call on an adapter is one on each port that it fits."""
    calls = {(name, method) for tree in tests for name, method in method_calls(tree)}
    return {f"{port}.{method}" for name, method in calls for port in ports_of(name) if method in port_methods()[port]}


def method_calls(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Calls of methods, each with a class whose object they are called on."""
    shared = names_in_file(tree)
    for scope in [tree, *functions(tree)]:
        names = {**shared, **names_in(scope)} if isinstance(scope, Function) else shared
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                for name in classes_of(node.func.value, names):
                    yield name, node.func.attr


def names_in_file(tree: ast.Module) -> Names:
    found = merged(assigned(node, {}) for node in tree.body)
    for function in functions(tree):
        found[function.name] |= class_names(function.returns)
    return found


def names_in(function: Function) -> Names:
    arguments = [*function.args.args, *function.args.kwonlyargs]
    found = merged([(argument.arg, class_names(argument.annotation))] for argument in arguments)
    for node in ast.walk(function):
        for name, classes in assigned(node, found):
            found[name] |= classes
    return found


def assigned(node: ast.AST, names: Names) -> Iterator[tuple[str, set[str]]]:
    """Variables that a statement gives a value: ``mailer = SmtpMailer(…)``, ``for mailer in mailers``."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    if isinstance(node, ast.Assign):
        pairs = [(target, node.value) for target in node.targets]
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        pairs = [(node.optional_vars, node.context_expr)]
    elif isinstance(node, ast.For | ast.comprehension):
        pairs = [(node.target, node.iter)]
    for target, value in pairs:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs += zip(target.elts, value.elts, strict=False)
        elif isinstance(target, ast.Name):
            yield target.id, classes_of(value, names)
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, class_names(node.annotation)


def classes_of(value: ast.expr, names: Names) -> set[str]:
    """Classes that the object of an expression may have, as far as its names say it."""
    match value:
        case ast.Await() | ast.Subscript():
            found = classes_of(value.value, names)
        case ast.Name():
            found = names.get(value.id, set())
        case ast.Attribute():
            found = attributes().get(value.attr, set())
        case ast.Call(func=ast.Name(id=name)):
            found = {name} if name in classes_by_name() else names.get(name) or functions_by_name().get(name, set())
        case ast.Call(func=ast.Attribute(attr=name)):
            found = functions_by_name().get(name, set())
        case _:
            found = set()
    return found


def class_names(annotation: ast.expr | None) -> set[str]:
    """Classes that an annotation names: ``Callable[[], Mailer | None]`` gives ``{"Mailer"}``."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    named = ast.walk(annotation) if annotation is not None else ()
    return {node.id for node in named if isinstance(node, ast.Name)} & classes_by_name().keys()


def merged(pairs: Iterable[Iterable[tuple[str, set[str]]]]) -> defaultdict[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, classes in chain.from_iterable(pairs):
        found[name] |= classes
    return found


def methods(class_: ast.ClassDef) -> dict[str, list[str]]:
    """Methods by name with the names of their parameters; properties are no methods."""
    return {
        node.name: [argument.arg for argument in [*node.args.args, *node.args.kwonlyargs]]
        for node in class_.body
        if isinstance(node, Function) and not node.decorator_list
    }


def all_methods(name: str) -> dict[str, list[str]]:
    """Methods of a class and of its bases."""
    class_ = classes_by_name().get(name)
    if class_ is None:
        return {}
    inherited = (all_methods(base.id) for base in class_.bases if isinstance(base, ast.Name))
    return dict(chain(chain.from_iterable(found.items() for found in inherited), methods(class_).items()))


@cache
def ports_of(name: str) -> set[str]:
    """The port of that name, or the ports that a class has all methods of, with the same parameters."""
    if name in port_methods():
        return {name}
    own = all_methods(name).items()
    return {port for port, wanted in port_methods().items() if wanted and wanted.items() <= own}


@cache
def classes_by_name() -> dict[str, ast.ClassDef]:
    # read by the first test that asks: each worker collects this file, and few run a test of it
    return {node.name: node for path in FILES for node in nodes_of(path) if isinstance(node, ast.ClassDef)}


@cache
def functions_by_name() -> Names:
    return merged(
        [(function.name, class_names(function.returns))]
        for path in FILES
        for function in functions_among(nodes_of(path))
    )


@cache
def attributes() -> Names:
    return merged(
        [(member.target.id, class_names(member.annotation))]
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name)
        else [(member.name, class_names(member.returns))]
        if isinstance(member, ast.FunctionDef) and member.decorator_list
        else []
        for class_ in classes_by_name().values()
        for member in class_.body
    )


@cache
def port_methods() -> dict[str, dict[str, list[str]]]:
    return {port.name: methods(port) for port in ports()}
