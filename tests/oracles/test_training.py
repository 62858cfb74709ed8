"""Training the shipped files, at toy size, from tables in the catalog's formats."""

import dataclasses
import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from vgib.chem.fingerprint import fingerprints
from vgib.data import entries
from vgib.data.molecules import load_drugs
from vgib.data.splits import random_split
from vgib.errors import FileFormatError, UnknownNameError
from vgib.oracles import registry
from vgib.oracles.fitting import Fit
from vgib.oracles.training import (
    JUDGED_SEEDS,
    Tables,
    _divided,
    _held_out,
    joined,
    latent_spread,
    taken,
    train_oracle,
    train_oracles,
    twins,
)

DRUGS = load_drugs()["smiles"].tolist()
TINY = Fit(columns=64, rarest=2, hidden=8, inner=4, epochs=1, batch=32)


def write(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the catalog with other rows; the published number of rows is set aside."""
    entry = entries.entry(name)
    path = folder / entry.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))
    with (folder / "SHA256SUMS").open("a") as sums:
        sums.write(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {entry.file}\n")
    changed = dataclasses.replace(entry, statistics=entries.Statistics())
    monkeypatch.setitem(entries.ENTRIES, entry.name, changed)


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    random = np.random.default_rng(0)
    values = random.normal(1.5, 0.8, len(DRUGS))
    folder = tmp_path / "mirror"
    folder.mkdir()
    zinc = "".join(f"{text},1,1,1\n" for text in DRUGS)
    write(folder, "ZINC250K", "smiles,logP,qed,SAS\n" + zinc, monkeypatch)
    listed = [f"{text} {2 + v:.3f}\n" for text, v in zip(DRUGS[::2], abs(values), strict=False)]
    write(folder, "vgib/hlm", "".join(listed), monkeypatch)
    labels = random.permuted([["train", "test"]] * len(DRUGS), axis=1)
    measured = zip(DRUGS, values, labels, strict=True)
    header = "Smiles_unify,value,scaffold_train_test_label,random_train_test_label\n"
    lines = "".join(f"{text},{v:.3f},{a},{b}\n" for text, v, (a, b) in measured)
    write(folder, "adme/pharmabench_human", header + lines, monkeypatch)
    activity = "".join(f"{text},{number % 2}\n" for number, text in enumerate(DRUGS[:150]))
    write(folder, "drd2/excape_test", "canonical,activity\n" + activity, monkeypatch)
    write(folder, "drd2/excape_actives", "\n".join(DRUGS[100:180:2]), monkeypatch)
    scores = "".join(
        f"{text},{abs(v) % 1:.3f}\n" for text, v in zip(DRUGS[150:], values, strict=False)
    )
    write(folder, "drd2/oracle_scores", "smiles,drd2_score\n" + scores, monkeypatch)
    return folder


@pytest.mark.parametrize("name", ["hlm_list", "hlm_measured", "drd2"])
def test_what_is_trained_can_be_loaded_and_is_the_same_again(
    name: str, toy: Path, tmp_path: Path
) -> None:
    said: list[str] = []
    cards = []
    for out in (tmp_path / "first", tmp_path / "second"):
        trained = train_oracle(name, Tables(toy, None, said.append), fit=TINY)
        cards.append(trained.write(out))
    assert cards[0] == cards[1]  # with the checksum of the weights
    oracle = registry.LEARNED[name].load(tmp_path / "first", name)
    assert np.isfinite(oracle(DRUGS[:20])).all()
    assert oracle.card.headline in oracle.card.quality
    assert any("molecule 1 of" in line for line in said)


def test_the_command_writes_both_files(toy: Path, tmp_path: Path) -> None:
    (card,) = train_oracles("hlm_measured", tmp_path / "out", mirror=toy)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "hlm_measured.json",
        "hlm_measured.npz",
    }
    assert card.data == {"adme/pharmabench_human": len(DRUGS)}


def test_an_unknown_name_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'hlm_list'"):
        train_oracles("hlm_lists", tmp_path)


def test_a_list_that_is_not_part_of_zinc_is_refused(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(toy, "vgib/mlm", "CCCCCCCCO 2.5\n", monkeypatch)
    with pytest.raises(FileFormatError, match="are not in ZINC250K"):
        train_oracle("mlm_list", Tables(toy, None, lambda text: None), fit=TINY)


def test_no_list_oracle_sees_what_it_later_judges() -> None:
    member = np.random.default_rng(1).permutation(5000)[:800]
    is_held = _held_out(member, 5000, np.random.default_rng(0))
    for seed in JUDGED_SEEDS:
        assert is_held[member[random_split(800, seed=seed).test]].all()
    others = np.setdiff1d(np.arange(5000), member)
    assert is_held[others].mean() == pytest.approx(is_held[member].mean(), abs=1e-3)


def test_what_calibrates_an_oracle_is_neither_tested_nor_trained_on() -> None:
    member = np.random.default_rng(1).permutation(5000)[:800]
    is_held, calibration, trained = _divided(member, 5000, 0)
    assert not is_held[calibration].any() and not is_held[trained].any()
    assert not set(calibration) & set(trained)
    assert len(calibration) + len(trained) + is_held.sum() == 5000


def test_the_spread_of_a_normal_latent_value_is_found() -> None:
    random = np.random.default_rng(0)
    mean = random.uniform(1.5, 2.3, 200_000)
    y = random.normal(mean, 0.25)
    found = latent_spread(norm.sf(2, mean, 0.25), np.maximum(y - 2, 0))
    assert found == pytest.approx(0.25, abs=0.005)


def test_fingerprints_are_joined_and_taken_apart() -> None:
    whole = fingerprints(DRUGS[:30])
    parts = joined([fingerprints(DRUGS[:11]), fingerprints(DRUGS[11:30])])
    rows = np.array([29, 3, 3, 12])
    some = taken(parts, rows)
    expected = fingerprints([DRUGS[row] for row in rows])
    for name, array in vars(expected).items():
        assert (getattr(some, name) == array).all(), name
    assert (parts.ids == whole.ids).all() and (parts.indptr == whole.indptr).all()


def test_stereoisomers_are_twins() -> None:
    found = twins(fingerprints(["C[C@H](N)C(=O)O", "CCO", "C[C@@H](N)C(=O)O", "OCC"]))
    assert found.tolist() == [0, 1, 0, 1]
