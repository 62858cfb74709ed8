"""How many mistakes in the core the tests notice: code is changed in one place, and tests are run.

    python -m benchmarks.mutations --sample 150 --seed 0     # goes on where it was stopped
    python -m benchmarks.mutations --again                   # asks again what no test noticed

Each mutation is one change to the syntax tree of one module: a comparison turned round or off by
one, ``+`` for ``-``, ``and`` for ``or``, a condition negated, a constant increased, ``min`` for
``max``. The mutated module is written into a copy of the source, and the tests of the module, those
of ``tests/test_mutations.py``, those of the same package that import the module and its doctests
run against the copy. A test that fails there counts when it passes with the unchanged module; where
it does not, it is left out and the others go on. A mutation that no test notices survives. There is
one record for each mutation, a line of JSON. Where the verdict of first sight stays in a record,
``since`` names the test that was written later and notices the mutation.

Which mutations are drawn depends on what they change and on the seed, not on the line or on how
many there are: after a change of the code elsewhere the draw goes on as if nothing had happened.
"""

import argparse
import ast
import compileall
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from hashlib import sha256
from importlib.metadata import entry_points
from importlib.util import cache_from_source
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

from tests.test_public import ELSEWHERE

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "results" / "benchmarks" / "mutations.jsonl"
CORE = ("chem", "data", "select", "model", "explain", "stream", "serve", "nn", "metrics.py")
SECONDS = 400
"""How long the tests of one module may take; what is later than that is not judged."""

FEW = 5
"""Further test files, at most, that are run for one module."""

BROKEN = 99
"""What a process of tests ends with that could not run them."""

FAILED = re.compile(
    r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$|^ImportError while loading conftest '(.+)'", re.MULTILINE
)
"""How pytest names a test that failed, or the ``conftest.py`` that could not be imported."""

LEFT_OUT = "not slow and not network and not ray and not browser"
WELL = (0, 5)
"""What pytest ends with where nothing failed; 5 is a ``conftest.py``, which has no tests itself."""

EQUIVALENT = "equivalent"
"""The verdict, given by hand and with a reason, of a mutation that changes nothing."""

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


def mutations(path: Path) -> Iterator[tuple[int, str, Callable[[], str]]]:
    """Every mutation of a module: its line, what changed, and how to have the whole new text."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            places = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
            for place, node in places:
                new = changed(node) if isinstance(node, ast.expr) else None
                if new is None:
                    continue
                told = f"{ast.unparse(node)}  ->  {ast.unparse(ast.fix_missing_locations(new))}"
                yield node.lineno, told, partial(_text, tree, parent, name, place, node, new)


def _text(
    tree: ast.Module, parent: ast.AST, name: str, place: int | None, node: ast.expr, new: ast.AST
) -> str:
    _put(parent, name, place, new)
    text = ast.unparse(ast.fix_missing_locations(tree))
    _put(parent, name, place, node)
    return text


def _put(parent: ast.AST, name: str, place: int | None, node: Any) -> None:
    if place is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[place] = node


def tests_of(module: Path) -> list[Path]:
    """The tests that are there for a module: its own first, at last those beside that import it."""
    inside = module.relative_to(ROOT / "src" / "vgib")
    own = ROOT / "tests" / inside.parent / f"test_{inside.name}"
    if not own.exists() and ELSEWHERE.get(inside.as_posix(), "here") != "here":
        own = ROOT / ELSEWHERE[inside.as_posix()]
    if not own.exists():
        own = ROOT / "tests" / inside.parent
    name = ".".join(("vgib", *inside.with_suffix("").parts))
    named = re.compile(rf"^from {name} import|^import {name}\b", re.MULTILINE)
    around = sorted((ROOT / "tests" / inside.parent).rglob("test_*.py"))
    beside = [path for path in around if named.search(path.read_text(encoding="utf-8"))]
    first = [own, ROOT / "tests" / "test_mutations.py"]
    # What more tests than these import is used by them, and not what they are there for.
    further = [path for path in beside if path not in first]
    return first + (further if len(further) <= FEW else [])


class Copy:
    """A copy of the source in which one module can be another."""

    def __init__(self, place: str) -> None:
        self.source = Path(place, "src")
        unwanted = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(ROOT / "src", self.source, ignore=unwanted)
        compileall.compile_dir(self.source, quiet=1)
        self.passed = set[str]()

    def judge(self, module: Path, text: str) -> dict[str, Any]:
        """Whether a test that passes without the mistake fails with it, and which."""
        plain = ast.unparse(ast.parse(module.read_text(encoding="utf-8")))
        began, left_out = monotonic(), list[str]()
        while True:
            skipped = [f"--deselect={test}" for test in left_out]
            asked = [*map(str, tests_of(module)), *skipped, str(self._place(module))]
            code, test = self._tested(module, text, asked)
            if code == BROKEN or (code and test is None):  # it was not pytest that failed
                raise RuntimeError((self.source.parent / "said").read_text(errors="replace"))
            if code == 0 or code is None or test is None:
                verdict = {0: "survived", None: "late"}.get(code, "killed")
                break
            # A doctest of the copy, which is outside of the root, is named without its file.
            alone = f"{self._place(module)}{test}" if test.startswith("::") else test
            if test not in self.passed and self._tested(module, plain, [alone])[0] in WELL:
                self.passed.add(test)
            if test in self.passed:
                verdict = "killed"
                break
            left_out.append(test)
        seconds = round(monotonic() - began)
        return {"verdict": verdict, "by": test, "seconds": seconds, "left_out": left_out}

    def _place(self, module: Path) -> Path:
        """Where the copy has a module, whose doctests count too."""
        return self.source / module.relative_to(ROOT / "src")

    def _tested(self, module: Path, text: str, asked: list[str]) -> tuple[int | None, str | None]:
        """The exit code of pytest (``None``: late), and the first test or file that failed."""
        place = self._place(module)
        before = place.read_text(encoding="utf-8")
        place.write_text(text, encoding="utf-8")
        Path(cache_from_source(str(place))).unlink(missing_ok=True)
        said = self.source.parent / "said"
        try:
            code = _forked(self.source, said, asked)
        finally:
            place.write_text(before, encoding="utf-8")
        found = FAILED.search(said.read_text(errors="replace"))
        return code, found[1] or found[2] if found else None


def _forked(source: Path, said: Path, asked: list[str]) -> int | None:
    """Runs pytest in a fork of this process, which has the libraries loaded and none of ours."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(_tests(source, said, asked))
        except BaseException:
            traceback.print_exc()
            os._exit(BROKEN)
    until = monotonic() + SECONDS
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if monotonic() > until:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        sleep(0.2)


def _tests(source: Path, said: Path, asked: list[str]) -> int:
    import pytest

    os.setsid()
    for number in (1, 2):
        os.dup2(os.open(said, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_APPEND), number)
    os.chdir(ROOT)
    os.environ |= {"PYTHONPATH": f"{source}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    sys.path[:] = [str(source), *(p for p in sys.path if Path(p).resolve() != ROOT / "src")]
    for name in [n for n in sys.modules if n.split(".")[0] in ("vgib", "tests")]:
        del sys.modules[name]
    # A doctest of the copy alone would be far from the settings.
    how = ["-c", str(ROOT / "pyproject.toml"), "-m", LEFT_OUT]
    how += ["-q", "-x", "--assert=plain", "-p", "no:cacheprovider"]
    return int(pytest.main([*how, *asked]))


class Mutation(NamedTuple):
    """One change of one module."""

    module: str
    line: int
    change: str
    text: Callable[[], str]
    draw: str
    """Where it stands in the draw."""


def every(seed: int) -> list[Mutation]:
    """All mutations of the core in the order of the draw, each as likely as the next."""
    found, alike = list[Mutation](), Counter[tuple[str, str]]()
    for path in (one for name in CORE for one in _modules(ROOT / "src" / "vgib" / name)):
        module = path.relative_to(ROOT).as_posix()
        for line, change, text in mutations(path):
            number = alike[module, change] = alike[module, change] + 1
            draw = sha256(f"{seed} {module} {number} {change}".encode()).hexdigest()
            found.append(Mutation(module, line, change, text, draw))
    return sorted(found, key=lambda one: one.draw)


def _modules(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def taken(record: dict[str, Any], mutations: list[Mutation]) -> Mutation | None:
    """The mutation of a record, wherever its line is by now."""
    module, line = record["place"].rsplit(":", 1)
    alike = [one for one in mutations if (one.module, one.change) == (module, record["change"])]
    return min(alike, key=lambda one: abs(one.line - int(line)), default=None)


def read(path: Path) -> list[dict[str, Any]]:
    """The records so far."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def write(path: Path, records: list[dict[str, Any]]) -> None:
    """All records, a line each."""
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records), encoding="utf-8")


def summary(records: list[dict[str, Any]]) -> dict[str, Any]:
    """The score: of the mutations that change anything, how many were noticed."""
    judged = [one for one in records if one["verdict"] in ("killed", "survived")]
    killed = sum(one["verdict"] == "killed" for one in judged)
    passed = [one for one in judged if one["verdict"] != "killed"]
    since = sum("since" in one for one in passed)
    survivors = [f"{one['place']} {one['change']}" for one in passed if "since" not in one]
    told: dict[str, Any] = {"judged": len(judged), "killed": killed, "since": since}
    told |= {name: sum(one["verdict"] == name for one in records) for name in (EQUIVALENT, "late")}
    return told | {"score": round(killed / max(1, len(judged)), 3), "survivors": survivors}


def main() -> None:
    """Judges what is not judged yet, and prints the score."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sample", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="Judge the survivors once more.")
    parser.add_argument("--records", type=Path, default=RECORDS)
    chosen = parser.parse_args()
    import captum, httpx, pandas, sklearn.metrics, torch_geometric, uvicorn  # noqa: E401, F401, I001

    for plugin in entry_points(group="pytest11"):
        plugin.load()
    records = read(chosen.records)
    left = every(chosen.seed)
    with tempfile.TemporaryDirectory() as place:
        copy = Copy(place)
        if chosen.again:
            asked = [one for one in records if one["verdict"] in ("survived", "late")]
            found = [(one, taken(one, left)) for one in asked]
        else:
            for record in records:
                if (known := taken(record, left)) is not None:
                    left.remove(known)
            found = [({}, one) for one in left[: max(0, chosen.sample - len(records))]]
        for record, one in found:
            if one is None:
                continue
            if not record:
                records.append(record)
            record |= {"place": f"{one.module}:{one.line}", "change": one.change}
            record |= copy.judge(ROOT / one.module, one.text())
            print(json.dumps(record), file=sys.stderr)
            write(chosen.records, records)
    print(json.dumps(summary(records), indent=1))


if __name__ == "__main__":
    main()
