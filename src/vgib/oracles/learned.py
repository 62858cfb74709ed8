"""The learned oracles, read from the files that ship with the package."""

import hashlib
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
from scipy.special import expit, ndtri  # type: ignore[import-untyped]

from vgib.chem.fingerprint import Fingerprints, fingerprints
from vgib.data.files import replacing
from vgib.errors import FileFormatError
from vgib.oracles.contract import Oracle, OracleCard
from vgib.oracles.kernel import SimilarityRegression
from vgib.oracles.perceptron import Arrays, Floats, Perceptron

THRESHOLD = 2.0
"""The published clearance lists hold molecules from here on, log10 mL/min/g."""

RAREST = 1e-4
"""Membership probabilities below this are taken for it: there is no data to tell them apart."""


class Learned(Oracle):
    """An oracle that judges fingerprints with stored arrays."""

    @classmethod
    def load(cls, folder: Path, name: str) -> Self:
        """Reads ``name.npz`` and ``name.json``."""
        card = OracleCard.read(folder / f"{name}.json")
        path = folder / f"{name}.npz"
        try:
            if hashlib.sha256(path.read_bytes()).hexdigest() != card.weights_sha256:
                raise FileFormatError(
                    f"{str(path)!r} is not the file that its card describes: the checksum differs; "
                    "install vgib again, or train the oracle with `vgib oracles train`"
                )
            with np.load(path, allow_pickle=False) as stored:
                return cls(card, dict(stored))
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            if isinstance(error, FileFormatError):
                raise
            raise FileFormatError(
                f"cannot read the oracle {str(path)!r} ({error}); install vgib again, or train it "
                "with `vgib oracles train`"
            ) from error

    def __init__(self, card: OracleCard, arrays: Arrays) -> None:
        super().__init__(card)

    def judge(self, smiles: Sequence[str]) -> Floats:
        prints = fingerprints(smiles)
        return np.where(prints.is_valid, self.values(prints), np.nan)

    def values(self, prints: Fingerprints) -> Floats:
        """The values of molecules; rows that are not valid mean nothing."""
        raise TypeError(f"{type(self).__name__} must define values(prints)")


class ListClearance(Learned):
    """The predictor behind a published clearance list: is a molecule in it, and how high?"""

    def __init__(self, card: OracleCard, arrays: Arrays) -> None:
        super().__init__(card, arrays)
        self.network = Perceptron.stored(arrays)
        self.calibration = arrays["calibration"]
        self.spread = float(arrays["spread"])

    def values(self, prints: Fingerprints) -> Floats:
        return expected_clearance(*self.parts(prints), self.spread)

    def parts(self, prints: Fingerprints) -> tuple[Floats, Floats]:
        """The probability of membership, and the value that a member has."""
        out = self.network.judge(prints)
        return calibrated(out[:, 0], self.calibration), member_value(out[:, 1])

    def membership(self, smiles: Sequence[str]) -> Floats:
        """The probability that each molecule is in the list; NaN for what cannot be judged."""
        prints = fingerprints(smiles)
        return np.where(prints.is_valid, self.parts(prints)[0], np.nan)


class MeasuredClearance(Learned):
    """Clearance by similarity to measured molecules."""

    def __init__(self, card: OracleCard, arrays: Arrays) -> None:
        super().__init__(card, arrays)
        self.regression = SimilarityRegression(**arrays)

    def values(self, prints: Fingerprints) -> Floats:
        return self.regression(prints)

    def nearest(self, smiles: Sequence[str]) -> Floats:
        """Similarity to the nearest measured molecule, in [0, 1]: how far to trust a value."""
        prints = fingerprints(smiles)
        nearest = self.regression.similarity(prints).max(axis=1, initial=0.0)
        return np.where(prints.is_valid, nearest, np.nan)


class Activity(Learned):
    """The probability of being active."""

    def __init__(self, card: OracleCard, arrays: Arrays) -> None:
        super().__init__(card, arrays)
        self.network = Perceptron.stored(arrays)
        self.calibration = arrays["calibration"]

    def values(self, prints: Fingerprints) -> Floats:
        return calibrated(self.network.judge(prints)[:, 0], self.calibration)


def expected_clearance(membership: Floats, value: Floats, spread: float) -> Floats:
    r"""The expected latent clearance of a two-part model, left-censored at :math:`c = 2`.

    .. math:: E[y] = c + E[(y - c)_+] - E[(c - y)_+]
                   = c + p\,(v - c) - s\,(\varphi(z) - (1 - p)\,z), \quad z = \Phi^{-1}(p)

    *p* is the probability of membership, *v* the value given membership, both learned. Below the
    cut nothing was observed; there the shape is that of a normal variable with spread *s*
    (:attr:`ListClearance.spread`) which exceeds *c* with probability *p*, as in a Tobit model.
    It rises with *p* and with *v*, equals *v* for certain members and falls to
    :math:`c + s\,\Phi^{-1}(p)` for unlikely ones.
    """
    p = np.clip(membership, RAREST, 1 - 1e-12)
    z = ndtri(p)
    shortfall = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) - (1 - p) * z
    return np.asarray(THRESHOLD + p * (value - THRESHOLD) - spread * shortfall, dtype=np.float64)


VALUE_UNIT = 0.2
"""Values of members are learned in units of their mean excess over the threshold."""


def member_value(out: Floats) -> Floats:
    """The network's second output as a clearance; never below the threshold."""
    return np.asarray(THRESHOLD + VALUE_UNIT * np.maximum(out, 0.0), dtype=np.float64)


def calibrated(logit: Floats, calibration: Floats) -> Floats:
    """The probability of a logit, with slope and shift fitted on molecules not trained on."""
    slope, shift = calibration
    return np.asarray(expit(slope * logit + shift), dtype=np.float64)


def write_arrays(path: Path, arrays: Arrays) -> str:
    """Stores arrays, compressed, the same bytes for the same values; gives their SHA-256."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        # What numpy 2.1 calls allow_pickle would be one more array to numpy 1.26.
        np.savez_compressed(file, **dict(arrays))  # type: ignore[arg-type]
    return hashlib.sha256(path.read_bytes()).hexdigest()
