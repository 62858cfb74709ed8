"""Small graphs and a few molecules, which a job of seconds can learn."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from vgib.chem.properties import qed
from vgib.data.molecules import from_smiles, load_drugs
from vgib.tasks.molecules import Parts

NAME = "TU:Toy"
GRAPHS = 24


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mirror folder with one TU zip: paths (0) and cycles (1) of 4 to 7 nodes."""
    folder = tmp_path_factory.mktemp("toy")
    edges, indicator, labels, first = [], [], [], 1
    for number in range(GRAPHS):
        size, is_cycle = 4 + number % 4, number % 2
        links = [(node, node + 1) for node in range(size - 1)] + [(size - 1, 0)] * is_cycle
        edges += [f"{first + a}, {first + b}\n{first + b}, {first + a}" for a, b in links]
        indicator += [str(number + 1)] * size
        labels.append(str(is_cycle))
        first += size
    path = folder / "tu" / "Toy.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        for part, lines in (("A", edges), ("graph_indicator", indicator), ("graph_labels", labels)):
            archive.writestr(f"Toy/Toy_{part}.txt", "\n".join(lines) + "\n")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "SHA256SUMS").write_text(f"{digest}  tu/Toy.zip\n")
    return folder


@pytest.fixture(scope="session")
def drugs() -> Parts:
    """The embedded drugs with their QED: most to train on, some to validate, eight to judge."""
    smiles = [text for text in load_drugs()["smiles"] if 10 <= len(text) <= 50]
    graphs = from_smiles(smiles, qed(smiles), features="element", workers=1).graphs
    return Parts(graphs[:100], graphs[100:112], graphs[112:120])
