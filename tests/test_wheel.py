"""The wheel is built, looked into, and tried where the source tree cannot be seen."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import vgib

ROOT = Path(__file__).resolve().parents[1]
LARGEST = 12_000_000
"""Bytes of the wheel, most of which are weights."""


def run(*command: str | Path, cwd: Path) -> str:
    """The output of a command that must succeed, without hints about where the source is."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT]
    run(*build, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def inside(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """The ``bin`` of a new environment that holds the wheel and borrows its dependencies from ours.

    Ours is lent as a bare folder, whose own ``.pth`` files are not followed: the editable install,
    which is such a file, stays behind.
    """
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, symlinks=os.name != "nt")
    inner = sysconfig.get_paths("venv", {"base": str(folder), "platbase": str(folder)})
    pip = [sys.executable, "-m", "pip", "--python", folder, "install", "--quiet"]
    run(*pip, "--no-deps", "--no-index", wheel, cwd=folder)
    borrowed = dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    Path(inner["purelib"], "borrowed.pth").write_text("\n".join(borrowed), encoding="utf-8")
    return Path(inner["scripts"])


def test_the_wheel_holds_every_file_of_the_source(inside: set[str]) -> None:
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "vgib").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert source - inside == set()
    assert {name for name in inside if ".dist-info/" not in name} == source


@pytest.mark.parametrize("name", ["vgib/py.typed", "vgib/data/drugs.csv"])
def test_the_wheel_holds_the_types_and_the_embedded_drugs(inside: set[str], name: str) -> None:
    assert name in inside


@pytest.mark.parametrize("name", ["index.html", "app.js", "style.css", "docs.html"])
def test_the_wheel_holds_the_page(inside: set[str], name: str) -> None:
    assert f"vgib/serve/page/{name}" in inside


def test_the_licenses_travel_with_the_wheel(inside: set[str]) -> None:
    place = f"vgib-{vgib.__version__}.dist-info/licenses"
    assert {f"{place}/LICENSE", f"{place}/LICENSES.md"} <= inside


def test_the_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < LARGEST


def test_everything_made_from_data_has_its_terms(wheel: Path, inside: set[str]) -> None:
    told = (ROOT / "LICENSES.md").read_text(encoding="utf-8")
    models = {name.split("/")[3] for name in inside if name.startswith("vgib/model/weights/")}
    oracles = {Path(name).stem for name in inside if name.startswith("vgib/oracles/weights/")}
    for name in models | {re.sub(r"^.*(?=_)", "*", oracle) for oracle in oracles}:
        assert f"`{name}`" in told or f"weights/{name}`" in told, name
    cards = [name for name in inside if "/weights/" in name and name.endswith(".json")]
    with zipfile.ZipFile(wheel) as archive:
        for name in cards:
            terms = json.loads(archive.read(name)).get("license")
            assert terms and "not checked" not in terms, name


def test_the_installed_package_is_the_wheels_own(empty: Path, tmp_path: Path) -> None:
    code = "import vgib; print(vgib.__version__, vgib.__file__, sep='\\n')"
    version, file = run(empty / "python", "-I", "-c", code, cwd=tmp_path).splitlines()
    assert version == vgib.__version__
    assert Path(file).is_relative_to(empty.parent)


def test_the_installed_commands_answer(empty: Path, inside: set[str], tmp_path: Path) -> None:
    if "vgib/cli/app.py" not in inside:
        pytest.skip("the wheel has no command line yet")
    assert "Usage" in run(empty / "vgib", "--help", cwd=tmp_path)
    assert vgib.__version__ in run(empty / "python", "-I", "-m", "vgib", "--version", cwd=tmp_path)
