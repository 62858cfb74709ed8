"""A chunk of molecules in, two tables out, the same as the estimator gives one by one."""

import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from rdkit import Chem
from tests.stream.conftest import SMILES

from vgib.chem.properties import qed
from vgib.data.records import MOLBLOCK
from vgib.errors import InputError
from vgib.model.recognizer import SubgraphRecognizer
from vgib.select.policy import Selection
from vgib.stream.schema import ABOUT, REJECTED, SECOND, Recognized
from vgib.stream.work import Recognize


def chunk_of(smiles: list[str], **columns: list[object]) -> pa.Table:
    return pa.table({"line": range(1, len(smiles) + 1), "smiles": smiles, **columns})


@pytest.mark.parametrize(
    ("rule", "by"), [(None, None), ("ring_intact", "prediction"), ("largest_part", None)]
)
def test_every_row_is_what_the_estimator_says(
    model: Path, rule: str | None, by: str | None
) -> None:
    work = Recognize(model, Selection.of((0.3, 0.6), rule, by, n=2))
    rows = work(chunk_of(SMILES)).results.to_pylist()
    expected = SubgraphRecognizer.load(model).recognize(
        SMILES,
        2,
        keep_ratio=(0.3, 0.6),
        rule=rule,
        by=by,
    )
    assert [row["line"] for row in rows] == list(range(1, len(SMILES) + 1))
    for row, told in zip(rows, expected, strict=True):
        assert row["smiles"] == told.name
        assert row["prediction"] == pytest.approx(told.prediction)
        assert row["scores"] == pytest.approx(told.scores)
        found = [(r["smiles"], tuple(r["atoms"]), r["keep_ratio"]) for r in row["subgraphs"]]
        assert found == [(s.smiles, s.nodes, s.keep_ratio) for s in told.subgraphs]


def test_classes_come_with_their_probability(classes: Path) -> None:
    rows = Recognize(classes)(chunk_of(SMILES)).results.to_pylist()
    model = SubgraphRecognizer.load(classes)
    assert [row["prediction"] for row in rows] == model.predict(SMILES).tolist()
    chances = model.predict_proba(SMILES).max(1)
    assert [row["probability"] for row in rows] == pytest.approx(chances.tolist())
    second = model.predict_proba(SMILES)[:, 1]
    assert [row[SECOND] for row in rows] == pytest.approx(second.tolist())


def test_of_three_classes_none_is_the_second(tmp_path: Path) -> None:
    trained = SubgraphRecognizer(epochs=1, hidden=8, depth=1)
    trained.fit(SMILES, [number % 3 for number in range(len(SMILES))])
    found = Recognize(trained.save(tmp_path / "three"))(chunk_of(["CCO"])).results
    assert "probability" in found.column_names and SECOND not in found.column_names


def test_a_drug_has_the_same_place_among_drugs_alone_and_in_any_batch(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Recognize(SubgraphRecognizer.load(model), details=True)
    drugs = work.recognizer.among_drugs
    places = []
    for shift in (-4e-7, 0, 4e-7):  # as much as the order of a sum can change
        monkeypatch.setattr(work.recognizer, "among_drugs", drugs + shift)
        places.append(work(chunk_of(SMILES)).results["percentile"].to_pylist())
    assert places[0] == places[1] == places[2] and len(set(places[0])) > 10


def test_results_say_which_model_made_them(model: Path) -> None:
    def named(work: Recognize) -> set[str | None]:
        return set(work(chunk_of(SMILES[:3])).results["model"].to_pylist())

    assert named(Recognize(model)) == {str(model)} and named(Recognize("qed")) == {"qed"}
    loaded = SubgraphRecognizer.load(model)
    assert named(Recognize(loaded)) == {None}
    assert named(Recognize(loaded, called="mine")) == {"mine"}


def test_bad_rows_keep_their_line_and_get_a_reason(model: Path) -> None:
    chunk = chunk_of(
        ["CCO", "oops", "CC(=O)[O-].[Na+]", "", "CC", "C" * 501],
        id=["a", "b", "c", "d", None, "f"],
        problem=[None, None, None, None, "2 cells where the header has 3", None],
    )
    found = Recognize(model)(chunk)
    assert found.results["line"].to_pylist() == [1, 3]
    assert found.results["id"].to_pylist() == ["a", "c"]
    assert found.results["smiles"].to_pylist() == ["CCO", "CC(=O)[O-]"]
    assert "kept the largest of 2" in found.results["note"].to_pylist()[1]
    assert found.rejected.schema == REJECTED
    assert found.rejected["line"].to_pylist() == [2, 4, 5, 6]
    assert found.rejected["id"].to_pylist() == ["b", "d", None, "f"]
    reasons = found.rejected["reason"].to_pylist()
    assert "aromatic but is in no ring" in reasons[0] and "empty" in reasons[1]
    assert "2 cells" in reasons[2] and "501 heavy atoms" in reasons[3]


def test_salts_can_be_refused_and_large_molecules_accepted(model: Path) -> None:
    work = Recognize(model, mixtures="error", max_atoms=600)
    found = work(chunk_of(["CC(=O)[O-].[Na+]", "C" * 501]))
    assert found.results["line"].to_pylist() == [2]
    assert "a mixture of 2 components" in found.rejected["reason"].to_pylist()[0]


def test_the_schema_is_the_same_when_nothing_can_be_used(model: Path) -> None:
    work = Recognize(model)
    some, none = work(chunk_of(["CC"])), work(chunk_of(["oops"]))
    assert some.results.schema == none.results.schema == work.schema()
    assert set(some.results.column_names) == set(ABOUT) - {"probability", SECOND}
    assert some.rejected.schema == none.rejected.schema
    assert len(none.results) == 0 and len(work(chunk_of([])).rejected) == 0


def test_other_columns_are_carried_through(model: Path) -> None:
    found = Recognize(model)(chunk_of(["oops", "CC"], dose=[0.5, 1.5]))
    assert found.results["dose"].to_pylist() == [1.5]
    with pytest.raises(InputError, match="'scores' has the name of a result"):
        Recognize(model)(chunk_of(["CC"], scores=[1.0]))


def test_mol_blocks_are_read(model: Path) -> None:
    block = Chem.MolToMolBlock(Chem.MolFromSmiles("CCO"))
    chunk = pa.table({"line": [1, 9], MOLBLOCK: [block, "nonsense"], "id": ["ethanol", "x"]})
    found = Recognize(model)(chunk)
    assert found.results["smiles"].to_pylist() == ["CCO"]
    assert found.rejected.to_pylist()[0]["id"] == "x"


def test_scores_alone_have_no_subgraphs(model: Path) -> None:
    found = Recognize(model, scores_only=True)(chunk_of(["CCO"])).results
    assert found["subgraphs"].to_pylist() == [[]] and len(found["scores"].to_pylist()[0]) == 3


def test_the_settings_travel_and_the_model_does_not(model: Path) -> None:
    work = Recognize(model, Selection(n=2))
    assert work.recognizer is work.recognizer
    raw = pickle.dumps(work)
    assert len(raw) < 1000
    copy = pickle.loads(raw)
    assert copy == work and copy(chunk_of(["CCO"])).results == work(chunk_of(["CCO"])).results


def test_an_ensemble_answers_with_means_spread_and_stability(model: Path, tmp_path: Path) -> None:
    seeds = [SubgraphRecognizer.load(model)]
    for seed in (1, 2):
        seeds.append(SubgraphRecognizer(epochs=2, hidden=8, depth=2, seed=seed))
        seeds[-1].fit(SMILES, seeds[0].predict(SMILES))
    together = SubgraphRecognizer.together(seeds)
    folder, answer = together.save(tmp_path / "three"), together.answer(SMILES)
    rows = Recognize(folder, Selection(0.4))(chunk_of(SMILES)).results.to_pandas()
    each = np.stack([one.predict(SMILES) for one in seeds])
    np.testing.assert_allclose(rows["prediction"], each.mean(0), rtol=1e-5)
    np.testing.assert_allclose(rows["spread"], each.std(0), rtol=1e-4)
    np.testing.assert_allclose(rows["stability"], answer.agreement(Selection(0.4)))
    scores = np.mean([one.scores(SMILES) for one in seeds], axis=0)
    np.testing.assert_allclose(np.concatenate(rows["scores"]), scores, rtol=1e-5)
    alone = Recognize(folder, single=True)(chunk_of(SMILES)).results
    assert alone["prediction"].to_pylist() == pytest.approx(seeds[0].predict(SMILES).tolist())
    assert alone["spread"].null_count == alone["stability"].null_count == len(SMILES)
    none = Recognize(folder, Selection(0.4), scores_only=True)(chunk_of(SMILES)).results
    assert none["stability"].null_count == len(SMILES)  # there is no part to be stable
    by_prediction = Selection(0.4, by="prediction")
    predicted = Recognize(folder, by_prediction)(chunk_of(SMILES)).results
    wanted = answer.agreement(by_prediction)
    assert predicted["stability"].to_pylist() == pytest.approx(wanted.tolist())


def test_without_a_wish_the_card_decides_what_is_chosen(model: Path, tmp_path: Path) -> None:
    found = SubgraphRecognizer.load(model)
    found.card_.keep_ratio, found.card_.rule = 0.4, "nodes"
    folder = found.save(tmp_path / "own")
    usual = Recognize(folder)(chunk_of(SMILES)).results
    asked = Recognize(model, Selection(0.4, "nodes"))(chunk_of(SMILES)).results
    other = Recognize(folder, Selection(0.8))(chunk_of(SMILES)).results
    usual, asked, other = (table.drop_columns("model") for table in (usual, asked, other))
    assert usual.equals(asked) and not usual.equals(other)
    parts = SubgraphRecognizer.load(folder).subgraphs(SMILES)
    wanted = [row[0]["atoms"] for row in usual["subgraphs"].to_pylist()]
    assert [list(ranked[0].nodes) for ranked in parts] == wanted


def test_several_values_are_lists(tmp_path: Path) -> None:
    values = np.stack([qed(SMILES), np.array([len(s) for s in SMILES])], axis=1)
    trained = SubgraphRecognizer(epochs=1, hidden=8, depth=1).fit(SMILES, values)
    found = Recognize(trained.save(tmp_path / "two"))(chunk_of(["CCO"])).results.to_pylist()[0]
    assert found["prediction"] == pytest.approx(trained.predict(["CCO"])[0].tolist())
    assert found["spread"] is None


@dataclass(frozen=True)
class Fragile(Recognize):
    """Work that fails on any chunk with a certain molecule in it."""

    error: type[Exception] = RuntimeError

    def _recognized(self, chunk: pa.Table) -> Recognized:
        if "CCN" in chunk["smiles"].to_pylist():
            raise self.error("out of patience")
        return super()._recognized(chunk)


def test_a_molecule_on_which_the_program_fails_costs_itself(model: Path) -> None:
    chunk = chunk_of([*SMILES[:5], "CCN", *SMILES[5:9]], mass=["1"] * 10)
    found = Fragile(model)(chunk)
    assert found.results["line"].to_pylist() == [1, 2, 3, 4, 5, 7, 8, 9, 10]
    assert found.results.schema == Recognize(model)(chunk).results.schema
    (refused,) = found.rejected.to_pylist()
    assert (refused["line"], refused["text"]) == (6, "CCN")
    assert refused["reason"].endswith("failed on this molecule (RuntimeError: out of patience)")


def test_a_wrong_request_is_not_blamed_on_molecules(model: Path) -> None:
    with pytest.raises(InputError, match="out of patience"):
        Fragile(model, error=InputError)(chunk_of(["CCO", "CCN"]))
