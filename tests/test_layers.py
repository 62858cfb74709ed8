"""The shape of the package: imports point one way, and the map of the code shows what is there."""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")

# A module imports from the rows above its own, and from its own package.
LAYERS = [
    {"errors"},
    {"registry", "config", "limits", "metrics", "select"},
    {"chem", "nn"},
    {"data"},
    {"train", "oracles", "page"},
    {"model"},
    {"explain"},
    {"stream"},
    {"serve", "experiments"},
    {"cli", "__init__"},  # the skin and the public names, which nothing imports
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts): path
    for path in sorted(SOURCE.glob("vgib/**/*.py"))
}


def part(module: str) -> str:
    """The entry of the table that a module belongs to: ``vgib.nn.gib`` is part of ``nn``."""
    name = module.split(".")[1]
    return "cli" if name == "__main__" else name  # `python -m vgib` is the command line


@cache
def nodes(module: str) -> list[ast.AST]:
    """The syntax tree of a module, flat."""
    return list(ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))))


def imports(module: str) -> Iterator[str]:
    """Every imported name, in full, wherever in the module the import stands."""
    package = module.split(".")[:-1]
    for node in nodes(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *(node.module or "").split(".")]).strip(".")
            yield from (f"{source}.{alias.name}" for alias in node.names)


def own(module: str) -> Iterator[str]:
    """The imports from this package; the version is not one, it stands in the first lines."""
    yield from (
        name
        for name in imports(module)
        if name.split(".")[0] == "vgib" and name != "vgib.__version__"
    )


def foreign(module: str) -> set[str]:
    """The top-level packages of others that a module imports."""
    roots = {name.split(".")[0] for name in imports(module)}
    return roots - {"vgib", "__future__"} - sys.stdlib_module_names


def test_the_source_is_found() -> None:
    assert {"vgib.__init__", "vgib.errors", "vgib.registry"} <= set(MODULES)


@pytest.mark.parametrize("module", MODULES)
class TestModule:
    def test_has_a_place_in_the_table(self, module: str) -> None:
        assert part(module) in LEVEL, f"give {module} a row in LAYERS"

    def test_imports_from_lower_layers_or_its_own_package(self, module: str) -> None:
        for name in own(module):
            target = part(f"{name}.__init__")
            assert target == part(module) or LEVEL[target] < LEVEL[part(module)], name

    def test_imports_names_from_the_module_that_defines_them(self, module: str) -> None:
        for name in own(module):
            is_module = name in MODULES
            parent = name.rpartition(".")[0]
            assert is_module or parent in MODULES, f"{name} comes from an __init__ or from nowhere"

    def test_imports_only_the_libraries_of_its_layer(self, module: str) -> None:
        libraries = foreign(module)
        assert "rdkit" not in libraries or part(module) == "chem"
        if part(module) == "nn":
            assert libraries <= {"torch", "torch_geometric"}
        if part(module) == "page" or module.endswith(".table"):
            assert not libraries & {"torch", "torch_geometric"}
            assert {part(f"{name}.__init__") for name in own(module)}.isdisjoint({"nn", "data"})


# ---- few layers, few modules at the top, one name for one class ----------------------------------


def test_layers_and_modules_at_the_top_stay_few() -> None:
    assert len(LAYERS) <= 10
    assert len(list((SOURCE / "vgib").glob("*.py"))) <= 8


def test_no_class_name_stands_twice() -> None:
    places = Counter(
        node.name for module in MODULES for node in nodes(module) if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in places.items() if count > 1] == []


def test_docstrings_say_what_they_are_about() -> None:
    for path in MODULES.values():
        assert "likewise" not in path.read_text(encoding="utf-8").lower(), path


# ---- the map of the code -------------------------------------------------------------------------


def section(title: str) -> str:
    return MAP.split(f"## {title}\n")[1].split("\n## ")[0]


def test_the_map_has_one_table_of_layers_and_it_is_this_one() -> None:
    assert MAP.count("owest first") == 1
    rows = [line.split("|")[2] for line in section("Layers").splitlines() if line.startswith("| ")]
    shown = [set(re.findall(r"`(\w+)`", row)) for row in rows[2:]]
    assert shown == [names - {"__init__"} for names in LAYERS]


def shown_modules() -> set[str]:
    """The modules in the tree; of a line, what comes after two blanks is prose."""
    found: set[str] = set()
    folders: list[str] = []
    for line in section("Tree").split("```")[1].splitlines()[1:]:
        depth = (len(line) - len(line.lstrip())) // 2
        names = line.strip().partition("  ")[0].split()
        if names[0].endswith("/"):
            folders[depth:] = [names[0].removesuffix("/")]
        else:
            found |= {".".join([*folders[:depth], name]) for name in names}
    return found


def test_the_tree_shows_every_module_and_no_other() -> None:
    there = {
        module.replace("vgib.", "src.vgib.", 1)
        for module in MODULES
        if not module.endswith(".__init__")
    }
    assert sorted(shown_modules() ^ there) == [], "change docs/architecture.md with the files"
