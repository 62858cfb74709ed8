"""The formula of the list oracles, and the shipped files on molecules that they never saw."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm, spearmanr

from vgib.data.catalog import load_table
from vgib.data.splits import random_split
from vgib.errors import FileFormatError
from vgib.metrics import area_under_roc
from vgib.oracles import registry
from vgib.oracles.contract import OracleCard
from vgib.oracles.learned import (
    RAREST,
    THRESHOLD,
    Activity,
    ListClearance,
    MeasuredClearance,
    calibrated,
    expected_clearance,
    member_value,
    write_arrays,
)

P = np.linspace(2 * RAREST, 1 - 1e-6, 200)


# ---- the formula ---------------------------------------------------------------------------------


def test_the_expected_clearance_is_that_of_a_normal_latent_value() -> None:
    """With the value of a member that the normal itself implies, it is the normal's mean."""
    spread, mean = 0.3, np.linspace(1.2, 2.6, 15)
    p = norm.sf(THRESHOLD, mean, spread)
    z = (mean - THRESHOLD) / spread
    value = mean + spread * norm.pdf(z) / p
    assert expected_clearance(p, value, spread) == pytest.approx(mean, abs=1e-9)


def test_it_rises_with_the_probability_and_with_the_value() -> None:
    for value in (2.0, 2.3, 3.0):
        assert (np.diff(expected_clearance(P, np.full(len(P), value), 0.2)) > 0).all()
    for p in (RAREST, 0.1, 0.9):
        values = np.linspace(2, 4, 20)
        assert (np.diff(expected_clearance(np.full(20, p), values, 0.2)) > 0).all()


def test_a_certain_member_has_its_value_and_an_unlikely_one_is_below_the_cut() -> None:
    assert expected_clearance(np.ones(1), np.array([2.7]), 0.2) == pytest.approx([2.7])
    low = expected_clearance(np.array([0.0, 1e-9, RAREST]), np.full(3, 2.2), 0.2)
    assert (low == low[0]).all() and low[0] == pytest.approx(2 + 0.2 * norm.ppf(RAREST), abs=1e-3)


def test_the_value_of_a_member_is_never_below_the_cut() -> None:
    assert (member_value(np.array([-5.0, 0.0, 1.0])) == [2.0, 2.0, 2.2]).all()


def test_calibration_scales_and_shifts_the_logit() -> None:
    assert calibrated(np.array([3.0]), np.array([2.0, -6.0])) == pytest.approx([0.5])


# ---- files ---------------------------------------------------------------------------------------


def test_the_same_arrays_are_the_same_bytes(tmp_path: Path) -> None:
    arrays = {"a": np.arange(5), "b": np.ones((2, 2), dtype=np.float16)}
    assert write_arrays(tmp_path / "1.npz", arrays) == write_arrays(tmp_path / "2.npz", arrays)


@pytest.mark.parametrize("damage", ["other", "short", "text"])
def test_a_damaged_file_is_refused(damage: str, tmp_path: Path) -> None:
    content = (registry.FOLDER / "rlm_measured.npz").read_bytes()
    card = OracleCard.read(registry.FOLDER / "rlm_measured.json")
    changed = {"other": content + b" ", "short": content[:1000], "text": b"no arrays"}[damage]
    (tmp_path / "rlm_measured.npz").write_bytes(changed)
    card.write(tmp_path / "rlm_measured.json")
    with pytest.raises(FileFormatError, match="checksum"):
        MeasuredClearance.load(tmp_path, "rlm_measured")


def test_a_file_that_lacks_an_array_is_refused(tmp_path: Path) -> None:
    card = OracleCard.read(registry.FOLDER / "drd2.json")
    checksum = write_arrays(tmp_path / "drd2.npz", {"calibration": np.ones(2)})
    card.model_copy(update={"weights_sha256": checksum}).write(tmp_path / "drd2.json")
    with pytest.raises(FileFormatError, match="vgib oracles train"):
        Activity.load(tmp_path, "drd2")


# ---- quality, seen again -------------------------------------------------------------------------


def r2(predicted: np.ndarray, y: np.ndarray) -> float:
    return float(1 - np.square(predicted - y).sum() / np.square(y - y.mean()).sum())


@pytest.mark.parametrize(
    ("species", "animal", "required"),
    [("hlm", "human", 0.60), ("mlm", "mouse", 0.65), ("rlm", "rat", 0.65)],
)
def test_measured_clearance_is_predicted(
    species: str, animal: str, required: float, mirror: Path
) -> None:
    table = load_table(f"adme/pharmabench_{animal}", mirror=mirror)
    test = table[table["random_split"] == "test"]
    predicted = registry.get(f"{species}_measured")(test["smiles"].tolist())
    assert r2(predicted, test["clearance"].clip(-1, 4).to_numpy()) >= required
    assert r2(predicted, test["clearance"].to_numpy()) >= required


@pytest.mark.parametrize("species", ["hlm", "mlm", "rlm"])
def test_the_lists_are_recognized(species: str, mirror: Path) -> None:
    """The test molecules of seed 1, which no training saw, among others of ZINC250K."""
    oracle = registry.get(f"{species}_list")
    assert isinstance(oracle, ListClearance)
    listed = load_table(f"vgib/{species}", mirror=mirror)
    test = listed.iloc[random_split(len(listed), seed=1).test].sample(1200, random_state=0)
    others = load_table("ZINC250K", mirror=mirror)["smiles"].sample(3000, random_state=0)
    others = others[~others.isin(listed["smiles"])]
    smiles = [*test["smiles"], *others]
    is_member = np.arange(len(smiles)) < len(test)
    assert area_under_roc(oracle.membership(smiles), is_member) >= 0.95
    assert area_under_roc(oracle(smiles), is_member) >= 0.95
    assert spearmanr(oracle(smiles)[is_member], test[species]).statistic > 0.5


def test_drd2_actives_are_told_from_inactives(mirror: Path) -> None:
    """All of them, trained on or not: that the file is the one of its card."""
    table = load_table("drd2/excape_test", mirror=mirror)
    actives = table[table["activity"] == 1].sample(300, random_state=0)
    inactives = table[table["activity"] == 0].sample(1500, random_state=0)
    probability = registry.get("drd2")([*actives["smiles"], *inactives["smiles"]])
    assert area_under_roc(probability, np.arange(1800) < 300) >= 0.98


def test_drd2_agrees_with_the_published_oracle(mirror: Path) -> None:
    table = load_table("drd2/oracle_scores", mirror=mirror).sample(1500, random_state=0)
    probability = registry.get("drd2")(table["smiles"].tolist())
    assert spearmanr(probability, table["drd2"]).statistic > 0.4


def test_the_nearest_measured_molecule_tells_the_domain() -> None:
    oracle = registry.get("hlm_measured")
    assert isinstance(oracle, MeasuredClearance)
    known, strange, bad = oracle.nearest(
        ["Cc1ccc2c(OCCN3CCC(Cc4cccc(N5CCN(C)CC5)c4)CC3)cccc2n1", "[Xe]", "oops"]
    )
    assert known == 1 and strange == 0 and np.isnan(bad)
