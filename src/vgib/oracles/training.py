"""The learned oracles from the catalog: fitted, judged on held-out molecules, stored."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri  # type: ignore[import-untyped]
from scipy.stats import spearmanr  # type: ignore[import-untyped]

from vgib.chem.fingerprint import Fingerprints, fingerprints
from vgib.chem.mol import scaffold
from vgib.data.catalog import load_table
from vgib.data.files import ensure_writable
from vgib.data.splits import random_split
from vgib.errors import FileFormatError, unknown_name
from vgib.metrics import Estimate, bootstrap, mean_absolute_error, r_squared, roc_auc
from vgib.oracles.contract import CHUNK, OracleCard, Quality
from vgib.oracles.fitting import Fit, fit_calibration, fit_perceptron
from vgib.oracles.kernel import SimilarityRegression, fit_similarity
from vgib.oracles.learned import (
    RAREST,
    THRESHOLD,
    VALUE_UNIT,
    calibrated,
    expected_clearance,
    member_value,
    write_arrays,
)
from vgib.oracles.perceptron import Arrays, Floats, Perceptron, Rows
from vgib.oracles.registry import FOLDER, LEARNED

if TYPE_CHECKING:
    import pandas as pd

SPECIES = {"hlm": "human", "mlm": "mouse", "rlm": "rat"}
JUDGED_SEEDS = (0, 1, 2)
"""The list oracles must not know the test molecules of the 85/5/10 splits with these seeds."""

PLAUSIBLE = (-1.0, 4.0)
"""Measured clearance beyond these, log10 mL/min/g, is taken for a mistake of unit or assay."""

Say = Callable[[str], None]


@dataclass
class Tables:
    """Tables of the catalog and their fingerprints, each read once."""

    mirror: Path | None
    cache: Path | None
    say: Say
    _tables: "dict[str, tuple[pd.DataFrame, Fingerprints]]" = field(default_factory=dict)
    _scaffolds: dict[str, npt.NDArray[np.str_]] = field(default_factory=dict)

    def get(self, name: str) -> "tuple[pd.DataFrame, Fingerprints]":
        """A table, and the fingerprints of its molecules."""
        if name not in self._tables:
            table = load_table(name, mirror=self.mirror, cache=self.cache)
            parts = self._parts(name, table["smiles"].tolist())
            self._tables[name] = table, joined([fingerprints(part) for part in parts])
        return self._tables[name]

    def scaffolds(self, name: str) -> npt.NDArray[np.str_]:
        """The Bemis-Murcko scaffold of each molecule of a table."""
        if name not in self._scaffolds:
            smiles = self.get(name)[0]["smiles"].tolist()
            found = [[scaffold(text) for text in part] for part in self._parts(name, smiles)]
            self._scaffolds[name] = np.array(list(chain.from_iterable(found)), dtype=np.str_)
        return self._scaffolds[name]

    def _parts(self, name: str, smiles: list[str]) -> Iterator[list[str]]:
        """The molecules part by part; says how far it is."""
        step = 8 * CHUNK
        for start in range(0, len(smiles), step):
            self.say(f"{name}: molecule {start + 1:,} of {len(smiles):,}")
            yield smiles[start : start + step]


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained oracle: what is stored, and what is said about it."""

    arrays: Arrays
    card: OracleCard

    def write(self, folder: Path) -> OracleCard:
        """Stores both files; the card with the checksum of the other."""
        checksum = write_arrays(folder / f"{self.card.name}.npz", self.arrays)
        card = self.card.model_copy(update={"weights_sha256": checksum})
        card.write(folder / f"{self.card.name}.json")
        return card


def train_oracles(
    name: str,
    out: Path,
    *,
    mirror: Path | None = None,
    cache: Path | None = None,
    seed: int = 0,
    say: Say = lambda text: None,
) -> list[OracleCard]:
    """Trains one learned oracle, or ``"all"``, and writes its files into a folder."""
    if name not in LEARNED and name != "all":
        raise unknown_name("learned oracle", name, [*LEARNED, "all"])
    ensure_writable(out)
    shelf = Tables(mirror, cache, say)
    cards = []
    for each in LEARNED if name == "all" else (name,):
        say(f"{each}: training")
        cards.append(train_oracle(each, shelf, seed=seed).write(out))
    return cards


def train_oracle(name: str, shelf: Tables, *, seed: int = 0, fit: Fit | None = None) -> Trained:
    """Trains one oracle; ``fit`` are the settings of those that are networks."""
    species, _, kind = name.partition("_")
    fit = fit or Fit(seed=seed)
    if kind == "list":
        return _train_list(species, shelf, fit)
    if kind == "measured":
        return _train_measured(species, shelf)
    return _train_drd2(shelf, fit)


# ---- clearance lists -----------------------------------------------------------------------------


def _train_list(species: str, shelf: Tables, fit: Fit) -> Trained:
    everything, prints = shelf.get("ZINC250K")
    listed = load_table(f"vgib/{species}", mirror=shelf.mirror, cache=shelf.cache)
    member = _rows_of(listed["smiles"].tolist(), everything["smiles"].tolist(), f"vgib/{species}")
    label = np.zeros(len(everything))
    label[member] = 1
    excess = np.zeros(len(everything))
    excess[member] = listed[species].to_numpy() - THRESHOLD
    is_held, calibration_rows, rows = _divided(member, len(everything), fit.seed)
    network = fit_perceptron(prints, rows, label, excess / VALUE_UNIT, fit, shelf.say)
    out = _outputs(network, prints)
    calibration = fit_calibration(out[calibration_rows, 0], label[calibration_rows])
    p, v = calibrated(out[:, 0], calibration), member_value(out[:, 1])
    spread = latent_spread(p[calibration_rows], excess[calibration_rows])
    shelf.say("judging it on held-out molecules")
    held = np.flatnonzero(is_held)
    scaffolds = shelf.scaffolds("ZINC250K")
    new = held[is_unseen(scaffolds[held], scaffolds[~is_held])]
    quality = _list_quality(p, v, spread, label, excess, held, new)
    data = {f"vgib/{species}": len(listed), "ZINC250K": len(everything)}
    lowest = expected_clearance(np.array([RAREST]), np.array([THRESHOLD]), spread)
    numbers: dict[str, Any] = {"spread": spread, "calibration": calibration.tolist()}
    numbers["lowest"] = round(float(lowest[0]), 2)
    card = _card(f"{species}_list", data, quality, asdict(fit) | numbers)
    arrays = {"calibration": calibration, "spread": np.array(spread)}
    return Trained(network.arrays() | arrays, card)


def _card(
    name: str, data: dict[str, int], quality: dict[str, Quality], settings: dict[str, Any]
) -> OracleCard:
    """The shipped card, whose words say how the oracle is made, with the numbers of this one."""
    used = {each: version(each) for each in ("vgib", "rdkit", "numpy", "torch")}
    new = {"data": data, "quality": quality, "settings": settings, "versions": used}
    return OracleCard.read(FOLDER / f"{name}.json").model_copy(update=new)


def _rows_of(smiles: list[str], among: list[str], name: str) -> Rows:
    row = {text: number for number, text in enumerate(among)}
    missing = [text for text in smiles if text not in row]
    if missing:
        raise FileFormatError(
            f"{len(missing)} molecules of {name}, such as {missing[0]!r}, are not in ZINC250K as "
            "it was read; the two files do not belong together"
        )
    return np.array([row[text] for text in smiles], dtype=np.int64)


def _divided(member: Rows, n: int, seed: int) -> tuple[npt.NDArray[np.bool_], Rows, Rows]:
    """Which rows are held out; of the rest, those that calibrate and those that train."""
    random = np.random.default_rng(seed)
    is_held = _held_out(member, n, random)
    rows = random.permutation(np.flatnonzero(~is_held))
    return is_held, rows[: len(rows) // 20], np.sort(rows[len(rows) // 20 :])


def _held_out(member: Rows, n: int, random: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Which rows are held out: those that a split of the list tests on, and as large a share of all
    others.
    """
    tests = [random_split(len(member), seed=seed).test for seed in JUDGED_SEEDS]
    test = np.unique(np.concatenate(tests))
    is_held = np.zeros(n, dtype=np.bool_)
    is_held[member[test]] = True
    others = np.setdiff1d(np.arange(n), member)
    is_held[random.permutation(others)[: round(len(others) * len(test) / len(member))]] = True
    return is_held


def latent_spread(membership: Floats, excess: Floats) -> float:
    r"""The spread *s* at which a normal latent value has the members' mean excess over the cut.

    A normal variable that exceeds *c* with probability *p* does so by
    :math:`s\,(\varphi(z) + p z)` on average, members and others together.
    """
    p = np.clip(membership, RAREST, 1 - 1e-12)
    z = ndtri(p)
    expected = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) + p * z
    return round(float(excess.mean() / expected.mean()), 4)


def _list_quality(
    p: Floats, v: Floats, spread: float, label: Floats, excess: Floats, held: Rows, new: Rows
) -> dict[str, Quality]:
    members = held[label[held] == 1]
    new_members = new[label[new] == 1]
    value = THRESHOLD + excess
    combined = expected_clearance(p, v, spread)
    squared = np.square(p - label)
    share = label[held].mean()
    mean = value[members].mean()
    return {
        "membership_auc": Quality.of(_auc(p[held], label[held]), 0.5),
        "membership_auc_scaffold": Quality.of(_auc(p[new], label[new]), 0.5),
        "membership_brier": Quality.of(_mean(squared[held]), share * (1 - share)),
        "combined_auc": Quality.of(_auc(combined[held], label[held]), 0.5),
        "value_r2": Quality.of(r_squared(v[members], value[members]), 0.0),
        "value_r2_scaffold": Quality.of(r_squared(v[new_members], value[new_members]), 0.0),
        "value_mae": Quality.of(
            mean_absolute_error(v[members], value[members]),
            float(np.abs(value[members] - mean).mean()),
        ),
        "excess_r2": Quality.of(r_squared((p * (v - THRESHOLD))[held], excess[held]), 0.0),
        "combined_spearman_members": Quality.of(_spearman(combined[members], value[members]), 0.0),
    }


# ---- measured clearance --------------------------------------------------------------------------


def _train_measured(species: str, shelf: Tables) -> Trained:
    name = f"adme/pharmabench_{SPECIES[species]}"
    table, prints = shelf.get(name)
    raw = table["clearance"].to_numpy(dtype=np.float64)
    y = np.clip(raw, *PLAUSIBLE)
    quality: dict[str, Quality] = {}
    arrays: Arrays = {}
    for split in ("scaffold", "random"):  # the last one is shipped
        is_train = (table[f"{split}_split"] == "train").to_numpy()
        train, test = np.flatnonzero(is_train), np.flatnonzero(~is_train)
        regression = fit_similarity(taken(prints, train), y[train])
        found = _measured_quality(regression, taken(prints, test), raw[test])
        quality |= {f"{measure}_{split}": each for measure, each in found.items()}
        arrays = regression.arrays()
    settings = {"ridge": float(arrays["ridge"]), "plausible": list(PLAUSIBLE)}
    settings["clipped"] = int((y != raw).sum())
    card = _card(f"{species}_measured", {name: len(table)}, quality, settings)
    return Trained(arrays, card)


def _measured_quality(
    regression: SimilarityRegression, prints: Fingerprints, raw: Floats
) -> dict[str, Quality]:
    """How near a regression comes to measured values that it did not see, as they are and clipped.

    The trivial predictor is the mean of the training values.
    """
    y, trivial = np.clip(raw, *PLAUSIBLE), float(regression.mean)
    similarity = regression.similarity(prints)
    predicted = regression.mean + similarity @ regression.weight
    is_new = similarity.max(1) < 1

    def r2(truth: Floats, among: Any) -> Quality:
        constant = r_squared(np.full(len(truth[among]), trivial), truth[among])
        return Quality.of(r_squared(predicted[among], truth[among]), constant.value)

    return {
        "r2": r2(y, slice(None)),
        "r2_unclipped": r2(raw, slice(None)),
        "r2_new": r2(y, is_new),
        "mae": Quality.of(mean_absolute_error(predicted, y), float(np.abs(y - trivial).mean())),
        "spearman": Quality.of(_spearman(predicted, y), 0.0),
    }


# ---- DRD2 ----------------------------------------------------------------------------------------

DRD2_SOURCES = ("drd2/excape_test", "drd2/excape_actives", "drd2/oracle_scores")
"""Molecules whose class was measured, further active ones, and those a published model scored."""


class _Drd2Rows(NamedTuple):
    """What each molecule is for; one that is in several files is for one thing.

    Attributes:
        train, calibration, test: Those that fit, calibrate and judge the oracle.
        scored: Those whose published scores it is compared with.
    """

    train: Rows
    calibration: Rows
    test: Rows
    scored: Rows


def _train_drd2(shelf: Tables, fit: Fit) -> Trained:
    (labeled, first), (actives, second), (scored, third) = map(shelf.get, DRD2_SOURCES)
    known = len(labeled) + len(actives)
    prints = joined([first, second, third])
    group = twins(prints)
    label = np.concatenate(
        [labeled["activity"], np.ones(len(actives)), scored["drd2"]], dtype=np.float64
    )
    # A molecule that is active in one file is not inactive in another.
    is_active = np.bincount(group[:known], weights=label[:known]) > 0
    label[:known] = is_active[group[:known]]
    rows = _drd2_rows(group, known, fit.seed)
    network = fit_perceptron(prints, rows.train, label, None, fit, shelf.say)
    out = _outputs(network, prints)[:, 0]
    calibration = fit_calibration(out[rows.calibration], label[rows.calibration])
    shelf.say("judging it on held-out molecules")
    scaffolds = np.concatenate([shelf.scaffolds(name) for name in DRD2_SOURCES])
    new = rows.test[is_unseen(scaffolds[rows.test], scaffolds[rows.train])]
    quality = _drd2_quality(calibrated(out, calibration), label, rows, new)
    data = dict(zip(DRD2_SOURCES, map(len, (labeled, actives, scored)), strict=True))
    settings = asdict(fit) | {"calibration": calibration.tolist()}
    card = _card("drd2", data, quality, settings)
    return Trained(network.arrays() | {"calibration": calibration}, card)


def _drd2_rows(group: Rows, known: int, seed: int) -> _Drd2Rows:
    """Draws once for each molecule, whichever files it is in; the first ``known`` were measured."""
    drawn = np.random.default_rng(seed).random(group.max() + 1)[group]
    once = np.zeros(len(group), dtype=np.bool_)
    once[np.unique(group, return_index=True)[1]] = True
    is_scored = np.arange(len(group)) >= known
    return _Drd2Rows(
        train=np.flatnonzero(once & (drawn < np.where(is_scored, 0.5, 0.76))),
        calibration=np.flatnonzero(once & ~is_scored & (drawn >= 0.76) & (drawn < 0.8)),
        test=np.flatnonzero(once & ~is_scored & (drawn >= 0.8)),
        scored=np.flatnonzero(once & is_scored & (drawn >= 0.5)),
    )


def _drd2_quality(p: Floats, label: Floats, rows: _Drd2Rows, new: Rows) -> dict[str, Quality]:
    """How good probabilities are; ``new`` are the test molecules of scaffolds not trained on."""
    test, scored = rows.test, rows.scored
    agree = (p[scored] >= 0.5) == (label[scored] >= 0.5)
    share = float(label[test].mean())
    return {
        "roc_auc": Quality.of(_auc(p[test], label[test]), 0.5),
        "roc_auc_scaffold": Quality.of(_auc(p[new], label[new]), 0.5),
        "average_precision": Quality.of(_average_precision(p[test], label[test]), share),
        "brier": Quality.of(_mean(np.square(p[test] - label[test])), share * (1 - share)),
        "published_spearman": Quality.of(_spearman(p[scored], label[scored]), 0.0),
        "published_accuracy": Quality.of(_mean(agree), float(np.mean(label[scored] >= 0.5))),
    }


# ---- fingerprints and numbers --------------------------------------------------------------------


def joined(parts: list[Fingerprints]) -> Fingerprints:
    """The fingerprints of several lists as those of one, in this order."""
    lengths = [np.diff(part.indptr) for part in parts]
    return Fingerprints(
        ids=np.concatenate([part.ids for part in parts]),
        counts=np.concatenate([part.counts for part in parts]),
        indptr=np.concatenate([[0], np.cumsum(np.concatenate(lengths))]),
        descriptors=np.concatenate([part.descriptors for part in parts]),
        is_valid=np.concatenate([part.is_valid for part in parts]),
    )


def taken(prints: Fingerprints, rows: Rows) -> Fingerprints:
    length = np.diff(prints.indptr)[rows]
    ends = np.cumsum(length)
    entry = np.arange(length.sum()) + np.repeat(prints.indptr[rows] - ends + length, length)
    return Fingerprints(
        ids=prints.ids[entry],
        counts=prints.counts[entry],
        indptr=np.concatenate([[0], ends]),
        descriptors=prints.descriptors[rows],
        is_valid=prints.is_valid[rows],
    )


def twins(prints: Fingerprints) -> Rows:
    """A number for each molecule, the same for those with equal substructures: stereoisomers."""
    keys: dict[bytes, int] = {}
    found = np.empty(len(prints), dtype=np.int64)
    for row, (start, end) in enumerate(zip(prints.indptr[:-1], prints.indptr[1:], strict=True)):
        key = prints.ids[start:end].tobytes() + prints.counts[start:end].tobytes()
        found[row] = keys.setdefault(key, len(keys))
    return found


def is_unseen(
    scaffolds: npt.NDArray[np.str_], known: npt.NDArray[np.str_]
) -> npt.NDArray[np.bool_]:
    """Whether a scaffold is not among the known ones; without rings there is none to compare."""
    unseen: npt.NDArray[np.bool_] = ~np.isin(scaffolds, known) & (scaffolds != "")
    return unseen


def _outputs(network: Perceptron, prints: Fingerprints) -> Floats:
    rows = np.arange(len(prints))
    step = 8 * CHUNK
    return np.concatenate(
        [network.judge(taken(prints, rows[i : i + step])) for i in range(0, len(rows), step)]
    )


def _auc(probability: Floats, label: Floats) -> Estimate:
    return roc_auc(np.stack([1 - probability, probability], 1), label.astype(int), resamples=100)


def _mean(values: npt.NDArray[Any]) -> Estimate:
    wide = values.astype(np.float64)
    return bootstrap(lambda index: float(wide[index].mean()), len(wide), resamples=200)


def _spearman(predicted: Floats, y: Floats) -> Estimate:
    def correlation(index: npt.NDArray[Any]) -> float:
        return float(spearmanr(predicted[index], y[index]).statistic)

    return bootstrap(correlation, len(y), resamples=200)


def _average_precision(probability: Floats, label: Floats) -> Estimate:
    """The mean precision at each positive, equal probabilities ranked by row.

    scikit-learn's takes them as one threshold, and so a molecule that is drawn twice as well.
    """

    def area(index: npt.NDArray[Any]) -> float:
        hits = label[index][np.argsort(-probability[index], kind="stable")]
        precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        return float((precision * hits).sum() / hits.sum())

    return bootstrap(area, len(label), resamples=100)
