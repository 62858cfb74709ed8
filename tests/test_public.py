"""The public names, and that every module has its tests."""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import vgib

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "vgib"

# Modules without a test file of their own name, and where they are tested instead.
ELSEWHERE = {
    "__init__.py": "here",
    "__main__.py": "tests/cli/test_app.py",
    "chem/diagnose.py": "tests/chem/test_mol.py",
    "cli/evaluate.py": "tests/model/test_kfold.py",
    "cli/options.py": "tests/cli/test_recognize.py",
    "cli/recognize_cluster.py": "tests/stream/test_ray_parts.py",
    "cli/report.py": "tests/experiments/table4/test_table.py",
    "cli/run.py": "tests/experiments/engine/test_runner.py",
    "data/capped.py": "tests/model/test_answer.py",
    "data/entries.py": "tests/data/test_catalog.py",
    "data/from_pyg.py": "tests/data/test_packed.py",
    "data/headers.py": "tests/data/test_molecules.py",
    "data/packed_files.py": "tests/data/test_packed.py",
    "data/ranges.py": "tests/data/test_packed.py",
    "data/sources.py": "tests/data/test_catalog.py",
    "data/tables.py": "tests/data/test_catalog.py",
    "data/tu_files.py": "tests/data/test_tu.py",
    "experiments/engine/cells.py": "tests/experiments/table4/test_table.py",
    "experiments/engine/coverage.py": "tests/experiments/table4/test_table.py",
    "experiments/engine/finished.py": "tests/experiments/engine/test_runner.py",
    "experiments/engine/jobs.py": "tests/experiments/engine/test_recipe.py",
    "experiments/figure1/table.py": "tests/experiments/table2/test_table.py",
    "experiments/figure2b/job.py": "tests/experiments/figure2b/test_work.py",
    "experiments/figure3/job.py": "tests/experiments/figure3/test_work.py",
    "experiments/figure4/table.py": "tests/experiments/table3/test_table.py",
    "experiments/table1/cells.py": "tests/experiments/table1/test_table.py",
    "experiments/table1/job.py": "tests/experiments/table1/test_work.py",
    "experiments/table2/job.py": "tests/experiments/table2/test_work.py",
    "experiments/table3/job.py": "tests/experiments/table3/test_work.py",
    "experiments/table4/job.py": "tests/experiments/table4/test_work.py",
    "experiments/table4/cells.py": "tests/experiments/table4/test_table.py",
    "explain/outputs.py": "tests/explain/test_targets.py",
    "explain/plan.py": "tests/explain/test_frozen.py",
    "model/configured.py": "tests/model/test_recognizer.py",
    "model/parts.py": "tests/model/test_answer.py",
    "stream/schema.py": "tests/stream/test_work.py",
    "train/checkpoint.py": "tests/train/test_loop.py",
}

# A package's own file holds a sentence, or imports what registers itself.
MODULES = sorted(
    path.relative_to(SOURCE).as_posix()
    for path in SOURCE.rglob("*.py")
    if path.name != "__init__.py" or path.parent == SOURCE
)


# ---- names ---------------------------------------------------------------------------------------


def test_all_lists_every_public_name_once_and_sorted() -> None:
    assert vgib.__all__ == sorted(vgib._HOMES)


@pytest.mark.parametrize("name", vgib.__all__)
def test_every_public_name_is_what_its_module_defines(name: str) -> None:
    found = getattr(vgib, name)
    assert found is getattr(importlib.import_module(vgib._HOMES[name]), name)
    assert found.__module__ == vgib._HOMES[name]
    assert inspect.getdoc(found)


def test_names_can_be_listed_and_imported_by_star() -> None:
    assert set(vgib.__all__) | {"__version__"} == set(dir(vgib))
    space: dict[str, object] = {}
    exec("from vgib import *", space)
    assert set(vgib.__all__) <= set(space)


def test_type_checkers_see_the_same_names() -> None:
    text = (SOURCE / "__init__.py").read_text(encoding="utf-8")
    block = text.split("if TYPE_CHECKING:")[1].split("\n\n")[0]
    listed = {
        name.strip()
        for line in block.strip().splitlines()
        for name in line.split(" import ")[1].split(",")
    }
    assert listed == set(vgib.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'vgib' has no attribute 'recognize'"):
        _ = vgib.recognize
    assert not hasattr(vgib, "torch")


def test_importing_the_package_is_light() -> None:
    code = "import sys, vgib; print(*({'torch', 'rdkit', 'numpy', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


# ---- tests ---------------------------------------------------------------------------------------


def mirror_of(module: str) -> Path:
    path = Path(module)
    return ROOT / "tests" / path.parent / f"test_{path.name}"


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_its_tests(module: str) -> None:
    if module in ELSEWHERE:
        assert not mirror_of(module).is_file(), f"take {module} off the list"
        assert ELSEWHERE[module] == "here" or (ROOT / ELSEWHERE[module]).is_file()
    else:
        assert mirror_of(module).is_file(), f"write {mirror_of(module).relative_to(ROOT)}"


def test_the_list_of_exceptions_has_no_strangers() -> None:
    assert set(ELSEWHERE) <= set(MODULES)
