"""Any function explained: known truth, a forest on fingerprints, and functions that misbehave."""

import doctest
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
import torch
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from vgib.chem.divide import DIVISIONS, Division
from vgib.errors import InputError, UnknownNameError
from vgib.explain.function import FunctionError, explain_function, import_function
from vgib.model.effects import KINDS, Kind

MOLECULES = ["CCC(=O)O", "NCCc1ccc(F)cc1", "CC(=O)Nc1ccc(O)cc1", "C"]


def weights(smiles: Sequence[str]) -> list[float]:
    """Two for each oxygen, one less for each nitrogen: every atom's effect is known."""
    worth = {8: 2.0, 7: -1.0}
    return [
        sum(worth.get(atom.GetAtomicNum(), 0.0) for atom in Chem.MolFromSmiles(text).GetAtoms())
        for text in smiles
    ]


# ---- the truth is found --------------------------------------------------------------------------


@pytest.mark.parametrize("close", DIVISIONS)
@pytest.mark.parametrize("effects", KINDS)
def test_the_effects_of_what_adds_up_are_found(close: Division, effects: Kind) -> None:
    for found in explain_function(weights, MOLECULES, close=close, effects=effects):
        for part in found.parts:
            symbols = [
                Chem.MolFromSmiles(found.smiles).GetAtomWithIdx(atom).GetSymbol()
                for atom in part.atoms
            ]
            assert part.effect == pytest.approx(2 * symbols.count("O") - symbols.count("N"))
        assert found.atoms.sum() == pytest.approx(found.value) and found.left_out == 0
        assert sorted(atom for part in found.parts for atom in part.atoms) == list(
            range(len(found.atoms))
        )


def test_atoms_have_their_own_effects_where_atoms_are_closed() -> None:
    (found,) = explain_function(weights, "NCCO", close="atoms")
    assert found.atoms == pytest.approx([-1, 0, 0, 2])


@pytest.mark.parametrize("effects", ["myerson", "shapley"])
def test_two_groups_that_work_only_together_share(effects: Kind) -> None:
    def both(smiles: list[str]) -> list[float]:
        return [float("N" in text and "O" in text) for text in smiles]

    (found,) = explain_function(both, "NCCO", close="groups", effects=effects)
    amine, chain, alcohol = (part.effect for part in found.parts)
    assert amine == pytest.approx(alcohol) and amine > 0
    assert chain == pytest.approx(1 / 3 if effects == "myerson" else 0)
    assert amine + chain + alcohol == pytest.approx(1)


def test_a_forest_on_fingerprints_is_explained() -> None:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=256)
    random = np.random.default_rng(0)
    ends = ["C", "N", "O", "F", "Cl", "C#N", "C(=O)O", "OC", "[N+](=O)[O-]", "CC"]
    smiles = [
        f"c1cc({ends[first]})ccc1CC{ends[second]}"
        for first, second in random.integers(0, len(ends), (120, 2))
    ]

    def fingerprints(texts: Sequence[str]) -> np.ndarray:
        mols = [Chem.MolFromSmiles(text) for text in texts]
        return np.array([generator.GetCountFingerprintAsNumPy(mol) for mol in mols])

    nitro = np.array(["[N+](=O)[O-]" in text for text in smiles], dtype=float)
    forest = RandomForestRegressor(30, random_state=0).fit(fingerprints(smiles), nitro)
    (found,) = explain_function(
        lambda texts: forest.predict(fingerprints(texts)), "CCc1ccc([N+](=O)[O-])cc1"
    )
    best = max(found.parts, key=lambda part: part.effect)
    assert best.name == "nitro" and best.effect > 0.4
    assert found.atoms.sum() == pytest.approx(found.value - found.nothing)


# ---- how the function is asked -------------------------------------------------------------------


class Recorder:
    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, smiles: list[str]) -> list[float]:
        self.batches.append(smiles)
        return weights(smiles)


def test_each_smiles_is_asked_once_and_in_batches() -> None:
    asked = Recorder()
    explain_function(asked, ["NCCCO", "NCCO", "NCCO"], batch_size=4)
    everything = [text for batch in asked.batches for text in batch]
    assert len(set(everything)) == len(everything)
    assert max(map(len, asked.batches)) == 4


def test_by_default_the_function_sees_only_connected_molecules() -> None:
    asked = Recorder()
    explain_function(asked, MOLECULES, close="parts")
    assert not any("." in text or "*" in text for batch in asked.batches for text in batch)
    assert all(text in asked.batches[0] for text in MOLECULES)


def test_dummies_take_the_place_of_atoms_on_request() -> None:
    asked = Recorder()
    (found,) = explain_function(asked, "NCCO", close="atoms", replacement="dummy")
    assert found.atoms == pytest.approx([-1, 0, 0, 2])
    assert any("*" in text for text in asked.batches[0]) and "[H][H]" not in asked.batches[0]


def test_the_value_of_nothing_can_be_given() -> None:
    asked = Recorder()
    (found,) = explain_function(asked, "CCO", nothing=-3.0)
    assert found.nothing == -3 and found.atoms.sum() == pytest.approx(5)
    assert "[H][H]" not in asked.batches[0]


def test_many_parts_are_sampled_and_the_seed_decides() -> None:
    def pairs(smiles: list[str]) -> list[float]:
        return [text.count("O") ** 2.0 for text in smiles]

    long = "OCC(O)CC(O)CC(O)CC(O)CC(CO)CO"
    first, same, other = (
        explain_function(pairs, long, close="atoms", limit=0, samples=2, seed=seed)[0]
        for seed in (0, 0, 1)
    )
    assert not first.is_exact and any(part.error > 0 for part in first.parts)
    assert first.atoms.tolist() == same.atoms.tolist() != other.atoms.tolist()
    assert first.atoms.sum() == pytest.approx(first.value)


def test_a_bar_is_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    explain_function(weights, MOLECULES, progress=True)
    assert "molecules" in capsys.readouterr().err
    explain_function(weights, MOLECULES)
    assert capsys.readouterr().err == ""


def test_results_do_not_depend_on_what_stands_beside() -> None:
    together = explain_function(weights, MOLECULES * 40)
    alone = explain_function(weights, MOLECULES[1])
    assert together[-3].atoms.tolist() == alone[0].atoms.tolist()
    assert explain_function(weights, []) == []


# ---- functions that misbehave --------------------------------------------------------------------


def test_what_the_function_cannot_judge_is_left_out_and_counted() -> None:
    def picky(smiles: list[str]) -> list[float]:
        return [
            float("nan") if text == "CN" else value
            for text, value in zip(smiles, weights(smiles), strict=True)
        ]

    (found,) = explain_function(picky, "NCO", close="atoms")
    assert found.left_out == 1 and found.atoms == pytest.approx([-1, 0, 2])


def test_a_molecule_without_a_value_has_no_effects(caplog: pytest.LogCaptureFixture) -> None:
    def never(smiles: list[str]) -> list[float]:
        return [float("nan") if text == "CCO" else 1.0 for text in smiles]

    with caplog.at_level(logging.WARNING):
        lost, kept = explain_function(never, ["CCO", "CCN"])
    assert np.isnan(lost.value) and np.isnan(lost.atoms).all() and not np.isnan(kept.value)
    assert "no value for 1 of 2 molecules" in caplog.text


def test_an_error_names_the_smiles_that_caused_it() -> None:
    def fails(smiles: list[str]) -> list[float]:
        if "CC" in smiles:
            raise KeyError("no carbon chains")
        return weights(smiles)

    with pytest.raises(FunctionError, match=r"failed on 'CC': KeyError\('no carbon chains'\)"):
        explain_function(fails, "CCO")


def test_an_error_about_nothing_says_how_to_avoid_it() -> None:
    def fails(smiles: list[str]) -> list[float]:
        if "[H][H]" in smiles:
            raise ValueError("empty")
        return weights(smiles)

    with pytest.raises(FunctionError, match=r"failed on '\[H\]\[H\]'.*nothing=\.\.\."):
        explain_function(fails, "CCO")
    assert explain_function(fails, "CCO", nothing=0.0)[0].value == 2


def test_an_error_of_a_whole_batch_is_told_as_such() -> None:
    def fails(smiles: list[str]) -> list[float]:
        if len(smiles) > 1:
            raise MemoryError
        return weights(smiles)

    with pytest.raises(FunctionError, match="SMILES at once, not on one by one"):
        explain_function(fails, "CCO")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda smiles: [1.0], r"shape \(1,\) for 4 SMILES"),
        (lambda smiles: np.zeros((len(smiles), 2)), r"shape \(4, 2\)"),
        (lambda smiles: ["high"] * len(smiles), "gave list, not one number"),
        (lambda smiles: None, r"shape \(\)"),
    ],
)
def test_what_is_no_list_of_numbers_is_refused(given: Any, words: str) -> None:
    with pytest.raises(FunctionError, match=words):
        explain_function(given, "CCO")


def test_of_several_columns_one_is_asked_for() -> None:
    with pytest.raises(FunctionError, match="such as one column of them"):
        explain_function(lambda smiles: np.zeros((len(smiles), 2)), "CCO")


def test_tensors_with_a_gradient_are_numbers() -> None:
    def given(smiles: list[str]) -> torch.Tensor:
        return torch.tensor(weights(smiles), requires_grad=True)

    (found,), (plain,) = explain_function(given, "CCO"), explain_function(weights, "CCO")
    assert (found.atoms == plain.atoms).all()


def test_infinity_is_a_value_that_is_missing() -> None:
    def given(smiles: list[str]) -> list[float]:
        return [float("inf") if one in ("[H][H]", "CCC") else 1.0 for one in smiles]

    lost, kept = explain_function(given, ["CCC", "CCO"])
    assert np.isnan(lost.value) and np.isnan(lost.atoms).all()
    assert kept.value == 1.0 and np.isnan(kept.nothing) and np.isfinite(kept.atoms).all()


def test_a_model_that_cannot_be_called_is_told_to_give_its_function() -> None:
    with pytest.raises(InputError, match=r"LinearRegression is no function .* model\.predict"):
        explain_function(LinearRegression(), "CCO")  # type: ignore[arg-type]
    for strange in (None, float("nan")):
        with pytest.raises(InputError, match=f"{strange!r} is no SMILES; expected text"):
            explain_function(weights, ["CCO", strange])  # type: ignore[list-item]


def test_a_column_of_numbers_will_do() -> None:
    (found,) = explain_function(lambda s: np.array(weights(s))[:, None], "CCO")
    assert found.value == 2


def test_wrong_input_is_told() -> None:
    with pytest.raises(InputError, match="'c1ccc': "):
        explain_function(weights, "c1ccc")
    with pytest.raises(UnknownNameError, match="did you mean 'groups'"):
        explain_function(weights, "C", close="group")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="did you mean 'shapley'"):
        explain_function(weights, "C", effects="shaply")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="did you mean 'dummy'"):
        explain_function(weights, "C", replacement="dumy")  # type: ignore[arg-type]


# ---- results -------------------------------------------------------------------------------------


def test_the_result_shows_the_strongest_parts() -> None:
    (found,) = explain_function(weights, "CC(=O)NCCO")
    assert repr(found) == "MoleculeEffects(CC(=O)NCCO: 3; *O +2, *NC(*)=O +1, *C +0, *CC* +0)"
    frame = found.to_frame()
    assert frame.columns.tolist() == [
        *["smiles", "value", "fragment", "name", "effect", "error", "atoms"]
    ]
    assert frame.effect.tolist() == pytest.approx([2, 1, 0, 0])
    assert frame["name"].tolist() == ["", "amide", "", ""]
    assert frame.atoms.tolist() == ["6", "1 2 3", "0", "4 5"]


# ---- functions by name ---------------------------------------------------------------------------


def test_a_function_is_imported_by_its_name() -> None:
    import math

    assert import_function("math:fsum") is math.fsum
    assert import_function("collections:OrderedDict.fromkeys")(["a"]) == {"a": None}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("math", "write package.module:name"),
        (":x", "write package.module:name"),
        ("no_such_module_at_all:f", "no module 'no_such_module_at_all'"),
        ("math:fsumm", "the module 'math' has no 'fsumm'"),
        ("math:pi", "'math:pi' is no function but float"),
    ],
)
def test_a_name_that_leads_nowhere_is_told(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        import_function(name)


@pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9),
    reason="the page prints digits of a forest, and older versions of scikit-learn grow another",
)
def test_the_page_shows_what_comes_out() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "any_model.md"
    done = doctest.testfile(str(page), module_relative=False)
    assert done.attempted > 10 and done.failed == 0
