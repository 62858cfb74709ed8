"""Ring systems by name."""

import pytest

from vgib.chem.mol import as_mol
from vgib.chem.rings import _names, ring_systems
from vgib.chem.tables import table_rows


@pytest.mark.parametrize(
    ("smiles", "names"),
    [
        ("CCO", []),
        ("c1ccccc1C1CC1", ["benzene", "cyclopropane"]),
        ("Cn1cccc1", ["pyrrole"]),
        ("Cn1c(=O)cccc1", ["pyridone"]),
        ("C[n+]1ccccc1", ["pyridine"]),
        ("CC(C)Oc1ccc2[nH]ncc2c1", ["indazole"]),
        ("C1CC2CCC1CC2", ["C1CC2CCC1CC2"]),
        ("O=C1CCCN1c1ccccc1", ["pyrrolidinone", "benzene"]),
    ],
)
def test_rings_have_their_names(smiles: str, names: list[str]) -> None:
    assert [ring.name for ring in ring_systems(smiles)] == names


def test_every_usual_ring_has_one_name() -> None:
    assert len(_names()) == len(table_rows("rings.tsv")) == 66
    for name, smiles in table_rows("rings.tsv"):
        (ring,) = ring_systems(smiles)
        assert ring.name == name and len(ring.atoms) == as_mol(smiles).GetNumAtoms()
