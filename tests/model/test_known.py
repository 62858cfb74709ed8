"""What stands beside a prediction."""

from pathlib import Path

import numpy as np
import pytest

from vgib.data.loading import split_graphs
from vgib.data.molecules import from_smiles, load_drugs, read_molecules
from vgib.errors import FileFormatError
from vgib.model.known import Known, beside, conformal_half_width
from vgib.model.recognizer import SubgraphRecognizer

DRUGS = load_drugs()["smiles"].tolist()[:40]


def known(structures: bool) -> Known:
    return Known.of(from_smiles(DRUGS, np.arange(40.0)).graphs, structures=structures)


def test_a_training_molecule_is_its_own_nearest_neighbor(tmp_path: Path) -> None:
    known(structures=True).save(tmp_path)
    again = Known.load(tmp_path)
    assert again is not None
    first, second, _ = again.nearest(DRUGS[7])
    assert (first.similarity, first.measured, first.smiles) == (1.0, 7.0, DRUGS[7])
    assert second.similarity < 1


def test_what_was_learned_from_is_noticed() -> None:
    others = load_drugs()["smiles"].tolist()[40:60]
    seen = known(structures=False).seen([*DRUGS[:5], *others])
    assert seen.tolist() == [True] * 5 + [False] * 20


def test_structures_stay_away_where_they_may_not_be_told(tmp_path: Path) -> None:
    known(structures=False).save(tmp_path)
    again = Known.load(tmp_path)
    assert again is not None and again.nearest(DRUGS[0])[0].smiles is None
    assert Known.load(tmp_path / "elsewhere") is None


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    known(structures=False).save(tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(FileFormatError, match="truncated or not a file of known molecules"):
        Known.load(tmp_path)


def test_alerts_and_warnings_are_named() -> None:
    nitro, mercury, plain = beside(["O=[N+]([O-])c1ccccc1", "C[Hg]C", "CCO"], None)
    assert "nitro group (brenk)" in nitro.alerts
    assert "metal (Hg)" in mercury.warnings[0]
    assert plain.alerts == plain.warnings == plain.nearest == ()
    (far,) = beside(["CCCCCCCCCCCCCCCC"], known(structures=True))
    assert any("like no training molecule" in told for told in far.warnings)


def test_a_model_warns_of_molecules_larger_than_those_it_learned_from() -> None:
    alkanes = ["C" * size for size in range(2, 14)]
    model = SubgraphRecognizer(hidden=4, depth=1, epochs=1).fit(alkanes, np.arange(12.0))
    assert model.card_.largest == 12
    small, large = beside(["C" * 12, "C" * 13], None, model.card_.largest)
    assert small.warnings == ()
    assert large.warnings == ("has 13 heavy atoms; the model knows molecules of up to 12",)


@pytest.mark.parametrize("level", [0.8, 0.9])
def test_conformal_intervals_hold_as_often_as_they_say(level: float) -> None:
    rng = np.random.default_rng(0)
    held = []
    for _ in range(400):
        errors = rng.standard_t(3, size=60)
        held.append(abs(rng.standard_t(3, size=50)) <= conformal_half_width(errors, level))
    assert level - 0.005 <= np.mean(held) <= level + 0.03


def test_the_shipped_clearance_models_know_their_molecules() -> None:
    model = SubgraphRecognizer.load("hlm")
    assert model.known_ is not None and len(model.known_.bits) == 1647
    assert model.card_.interval is not None and 0.5 < model.card_.interval < 1.5
    assert len(model.among_drugs) == 217 and (np.diff(model.among_drugs) >= 0).all()


@pytest.mark.data
def test_nine_of_ten_new_scaffolds_lie_in_the_interval(mirror: Path) -> None:
    """What a chemist does: the interval of one series is used on the next."""
    graphs = read_molecules(
        mirror / "adme" / "biogen_adme_public_set_3521.csv.gz",
        target="LOG HLM_CLint (mL/min/kg)",
        limit=1500,
    ).graphs
    held, rows = 0.0, 0
    for seed in range(3):
        parts = split_graphs(graphs, "scaffold", seed=seed)
        model = SubgraphRecognizer("gin", "none", epochs=8, hidden=32, depth=2, seed=seed)
        model.fit(graphs[parts.train], val=graphs[parts.val])
        found = model.evaluate(graphs[parts.test])["interval_coverage"]
        held, rows = held + found["value"] * found["n"], rows + found["n"]
    assert 0.84 <= held / rows <= 0.96, held / rows


def test_a_molecule_that_was_read_without_its_metal_is_warned_of() -> None:
    plain, bare = beside(["CCO", "CCO"], None, notes=[None, "Left out [Cl-], [Pt+4]."])
    assert plain.warnings == ()
    assert bare.warnings[0].startswith("was read without its metal (Pt)")
