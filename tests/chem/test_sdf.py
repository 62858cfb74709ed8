"""SD records with atom scores, as RDKit reads them back."""

import io

import pytest
from rdkit import Chem

from vgib.chem.sdf import SdWriter


def test_scores_names_and_tags_come_back_in_order() -> None:
    file = io.StringIO()
    with SdWriter(file) as writer:
        writer.write("C[C@H](N)O", "first", [0.1, 0.25, 0.5, 1.0], {"prediction": 0.5})
        writer.write("[H]OC", "", [0.2, 0.3], {})
    first, second = _read(file.getvalue())
    assert [atom.GetDoubleProp("score") for atom in first.GetAtoms()] == [0.1, 0.25, 0.5, 1.0]
    assert first.GetProp("_Name") == "first" and first.GetProp("prediction") == "0.5"
    assert Chem.MolToSmiles(first) == Chem.CanonSmiles("C[C@H](N)O")
    assert [atom.GetSymbol() for atom in second.GetAtoms()] == ["O", "C"]
    places = first.GetConformer().GetPositions()
    assert abs(places[:, :2]).max() > 0.5 and abs(places[:, 2]).max() == 0


def test_scores_are_written_without_the_digits_of_binary_fractions() -> None:
    file = io.StringIO()
    with SdWriter(file) as writer:
        writer.write("C" * 60, "", [0.0067] * 59 + [0.0], {})
    told = file.getvalue().split("<atom.dprop.score>")[1].split("\n", 1)[1]
    assert set(told.split("$$$$")[0].split()) == {"0.0067", "0"}
    (mol,) = _read(file.getvalue())
    assert [atom.GetDoubleProp("score") for atom in mol.GetAtoms()] == [0.0067] * 59 + [0.0]


def test_scores_must_match_the_atoms() -> None:
    with pytest.raises(ValueError, match="argument 2"), SdWriter(io.StringIO()) as writer:
        writer.write("CCO", "", [0.5], {})


def _read(text: str) -> list[Chem.Mol]:
    supplier = Chem.SDMolSupplier()
    supplier.SetData(text)
    return list(supplier)
