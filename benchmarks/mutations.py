"""How many mistakes in the core the tests notice: code is changed in one place, and tests are run.

    python -m benchmarks.mutations --sample 150 --seed 0 > results/benchmarks/mutations.json

Each mutation is one change to the syntax tree of one module: a comparison turned round or off by
one, ``+`` for ``-``, ``and`` for ``or``, a condition negated, a constant increased, an argument of
``min``, ``max`` or ``argsort`` turned. The mutated module is written into a copy of the source, and
the tests of the module, with those of ``tests/test_mutations.py``, run against the copy. A mutation
that no test notices survives, and is listed.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CORE = ("chem", "data", "select", "model", "explain", "stream", "serve", "nn", "metrics.py")
SECONDS = 600

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
}
NAMED = {"min": "max", "max": "min", "all": "any", "any": "all", "argmin": "argmax"}
NAMED |= {"argmax": "argmin"}


def changed(node: ast.AST) -> ast.AST | None:
    """The node with one mistake in it; ``None`` where there is none to make."""
    new: Any = deepcopy(node)
    match new:
        case ast.Compare(ops=[op, *_]) if type(op) in COMPARED:
            new.ops[0] = COMPARED[type(op)]()
        case ast.BinOp(op=op) if type(op) in CALCULATED:
            new.op = CALCULATED[type(op)]()
        case ast.BoolOp(op=ast.And()):
            new.op = ast.Or()
        case ast.BoolOp(op=ast.Or()):
            new.op = ast.And()
        case ast.UnaryOp(op=ast.USub(), operand=ast.AST()) if not isinstance(
            new.operand, ast.Constant
        ):
            return new.operand
        case ast.UnaryOp(op=ast.Not()):
            return new.operand
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            new.value = value + 1
        case ast.Call(func=ast.Name(id=name)) if name in NAMED:
            new.func.id = NAMED[name]
        case ast.Call(func=ast.Attribute(attr=name)) if name in NAMED:
            new.func.attr = NAMED[name]
        case _:
            return None
    return new


def mutations(path: Path) -> Iterator[tuple[int, str, str]]:
    """Every mutation of a module: its line, what changed, and the whole new text."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            places = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
            for place, node in places:
                new = changed(node) if isinstance(node, ast.expr) else None
                if new is None:
                    continue
                told = f"{ast.unparse(node)}  ->  {ast.unparse(ast.fix_missing_locations(new))}"
                _put(parent, name, place, new)
                text = ast.unparse(ast.fix_missing_locations(tree))
                _put(parent, name, place, node)
                yield node.lineno, told, text


def _put(parent: ast.AST, name: str, place: int | None, node: Any) -> None:
    if place is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[place] = node


def tests_of(module: Path) -> list[Path]:
    """The tests that are there for a module: its own, those of its folder, and the last resort."""
    inside = module.relative_to(ROOT / "src" / "vgib")
    own = ROOT / "tests" / inside.parent / f"test_{inside.name}"
    last = ROOT / "tests" / "test_mutations.py"
    return [own if own.exists() else ROOT / "tests" / inside.parent, last]


def is_killed(module: Path, text: str) -> bool:
    """Whether a test fails when the module has this text."""
    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "src")
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        (source / module.relative_to(ROOT / "src")).write_text(text, encoding="utf-8")
        options = [
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-m",
            "not slow and not network and not ray",
        ]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests_of(module)],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": f"{source}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            timeout=SECONDS,
        )
        return done.returncode != 0


def sampled(count: int, seed: int) -> list[tuple[Path, int, str, str]]:
    """Mutations of the core, drawn at random, each module as likely as it is long."""
    modules = [path for name in CORE for path in _modules(ROOT / "src" / "vgib" / name)]
    every = [(path, *one) for path in modules for one in mutations(path)]
    return random.Random(seed).sample(every, min(count, len(every)))


def _modules(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def main() -> None:
    """Prints the score and the survivors."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sample", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    survivors: list[dict[str, Any]] = []
    drawn = sampled(chosen.sample, chosen.seed)
    for module in sorted({module for module, *_ in drawn}):
        if is_killed(module, ast.unparse(ast.parse(module.read_text(encoding="utf-8")))):
            sys.exit(f"the tests of {module.relative_to(ROOT)} fail without a mistake in it")
    for number, (module, line, told, text) in enumerate(drawn, 1):
        place = f"{module.relative_to(ROOT)}:{line}"
        try:
            killed = is_killed(module, text)
        except subprocess.TimeoutExpired:
            killed = True
        print(f"{number}: {place} {'killed' if killed else 'SURVIVED'}: {told}", file=sys.stderr)
        if not killed:
            survivors.append({"place": place, "change": told})
    found = {"sampled": len(drawn), "killed": len(drawn) - len(survivors), "seed": chosen.seed}
    print(json.dumps(found | {"survivors": survivors}, indent=1))


if __name__ == "__main__":
    main()
