"""The notebooks run from top to bottom, and are kept without what a run leaves behind."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.xdist_group("examples")  # begun early: they take long

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NOTEBOOKS = sorted(path.name for path in EXAMPLES.glob("*.ipynb"))


def code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_the_notebooks_are_found() -> None:
    assert NOTEBOOKS == ["explain_your_model.ipynb", "tutorial.ipynb"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_nothing_of_a_run_is_kept(name: str) -> None:
    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs and cell.execution_count is None for cell in code(notebook))


def test_explaining_your_own_model_takes_under_thirty_lines() -> None:
    notebook = nbformat.read(EXAMPLES / "explain_your_model.ipynb", as_version=4)
    lines = [line for cell in code(notebook) for line in cell.source.splitlines() if line.strip()]
    assert len(lines) < 40
    assert len([line for line in lines if not line.startswith(("import", "from"))]) < 30


# Another process runs the cells; what this one warns of is the machinery between the two.
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:jupyter_client", "ignore::RuntimeWarning:zmq"
)
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("name", "pictures"), [("explain_your_model.ipynb", 6), ("tutorial.ipynb", 11)]
)
def test_a_notebook_runs_and_shows_pictures(name: str, pictures: int, tmp_path: Path) -> None:
    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    client = NotebookClient(notebook, timeout=500, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    outputs = [output for cell in code(notebook) for output in cell.outputs]
    # tqdm, which PyG imports, would like a widget library; nobody else may warn.
    assert all("tqdm" in o.text for o in outputs if o.get("name") == "stderr")
    shown = [o.data["text/html"] for o in outputs if "text/html" in o.get("data", {})]
    assert sum(html.count("<svg") for html in shown) == pictures
