"""Figure 3 from records."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.experiments.invented import file_record

from vgib.experiments.engine import drawing
from vgib.experiments.engine.recipe import recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.figure3.table import common, picture, placed


def molecule(smiles: str, atoms: int) -> dict[str, Any]:
    return {
        "smiles": smiles,
        "value": 0.5,
        "scores": [0.5] * atoms,
        "nodes": [0, 1],
        "divergence": None,
        "best_nodes": [1],
        "best_divergence": 0.125,
    }


def test_molecules_are_down_and_methods_across(tmp_path: Path) -> None:
    records = Records(tmp_path)
    for method in ("att05", "gib"):
        (job,) = recipe("figure3").jobs(subset={"property": "qed", "method": method})
        shown = [molecule("CCO", 3), molecule("CCCN", 4)]
        file_record(records, job, {"molecules": shown}, {"cpu": 1.0})
    drawn = drawing.draw(recipe("figure3"), records)
    root = ElementTree.fromstring(drawn.figures["figure3_list_qed.svg"])
    assert len(root.findall("{http://www.w3.org/2000/svg}svg")) == 2 * 3
    assert drawn.tables[0].headers == ("molecule", "att05", "gib", "reachable best")
    assert drawn.tables[0].rows[0] == ("CCO", "", "", "0.125")


def test_only_molecules_that_every_method_saw_are_shown() -> None:
    methods = {"a": [molecule("CCO", 3), molecule("CCN", 3)], "b": [molecule("CCN", 3)]}
    assert list(common(methods)) == ["CCN"]
    assert "reachable best" in picture(methods, "qed")


def test_a_picture_is_put_in_its_place() -> None:
    assert placed("<svg width='3'></svg>", 4, 5) == '<svg x="4" y="5" width=\'3\'></svg>'
