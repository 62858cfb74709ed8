"""The code that a job depends on, as one hash: a record says by it whether it is out of date."""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

ROOT = "vgib"


@cache
def code_hash(module: str) -> str:
    """A hash of a module and of everything in this package that it imports, directly or not.

    Imports inside functions count. Comments, docstrings and layout do not: only what is done. Data
    files, such as the weights of oracles, and other packages are not part of it; the versions of
    those that matter are in each record.

    >>> code_hash("vgib.errors") == code_hash("vgib.errors")
    True
    """
    digest = hashlib.sha256()
    for name in sorted(reached(module)):
        digest.update(f"{name}\n{ast.unparse(_without_docstrings(name))}\n".encode())
    return digest.hexdigest()[:12]


def reached(module: str) -> set[str]:
    """The modules of this package that a module imports, itself and packages around them too."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found or _file(name) is None:
            continue
        found.add(name)
        # To import a module is to import the packages around it, where methods are registered.
        waiting += [name.rpartition(".")[0], *_imports(name)]
    return found


def _imports(module: str) -> Iterator[str]:
    """Every name of this package that a module imports; a name may be a module or inside one."""
    for node in ast.walk(_parsed(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _file(module: str) -> Traversable | None:
    """The source of a module of this package; ``None`` for whatever else has a name."""
    package, *parts = module.split(".")
    if package != ROOT or not parts:  # the package itself only names what its modules define
        return None
    place = files(ROOT).joinpath(*parts)
    if place.is_dir():
        return place / "__init__.py"
    source = files(ROOT).joinpath(*parts[:-1], f"{parts[-1]}.py")
    return source if source.is_file() else None


@cache
def _parsed(module: str) -> ast.Module:
    source = _file(module)
    assert source is not None
    return ast.parse(source.read_text(encoding="utf-8"))


@cache
def _without_docstrings(module: str) -> ast.Module:
    """What a module does, without the texts that stand alone."""
    tree = _parsed(module)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [each for each in body if not _is_text(each)]  # type: ignore[attr-defined]
    return tree


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
