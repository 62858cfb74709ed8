"""The base class: what is remembered, and the card as a file."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from vgib.errors import FileFormatError
from vgib.metrics import Estimate
from vgib.oracles.contract import CHUNK, Oracle, Quality
from vgib.oracles.qed import CARD


class Length(Oracle):
    """The length of the text, and a list of what was asked."""

    def __init__(self, remembered: int = 10) -> None:
        super().__init__(CARD, remembered=remembered)
        self.asked: list[list[str]] = []

    def judge(self, smiles: Sequence[str]) -> npt.NDArray[np.float64]:
        self.asked.append(list(smiles))
        return np.array([len(text) for text in smiles], dtype=np.float64)


def test_only_what_is_new_is_judged_and_once() -> None:
    oracle = Length()
    assert oracle(["a", "bb", "a"]).tolist() == [1, 2, 1]
    assert oracle(["bb", "ccc"]).tolist() == [2, 3]
    assert oracle.asked == [["a", "bb"], ["ccc"]]


def test_the_ones_asked_for_last_are_remembered() -> None:
    oracle = Length(remembered=2)
    oracle(["a", "bb"])
    oracle(["a"])
    oracle(["ccc"])  # pushes "bb" out, as "a" was asked for later
    oracle(["a", "ccc"])
    assert oracle.asked == [["a", "bb"], ["ccc"]]
    oracle(["bb"])
    assert oracle.asked[-1] == ["bb"]


@pytest.mark.parametrize("remembered", [0, 1])
def test_more_molecules_than_are_remembered_all_get_their_value(remembered: int) -> None:
    texts = ["x" * n for n in range(1, 20)]
    assert Length(remembered)(texts).tolist() == list(range(1, 20))


def test_long_lists_are_judged_in_chunks() -> None:
    oracle = Length()
    values = oracle([str(number) for number in range(CHUNK + 5)])
    assert [len(part) for part in oracle.asked] == [CHUNK, 5]
    assert len(values) == CHUNK + 5


def test_a_card_comes_back_from_its_file(tmp_path: Path) -> None:
    CARD.write(tmp_path / "card.json")
    assert type(CARD).read(tmp_path / "card.json") == CARD


@pytest.mark.parametrize("content", ["", "{}", "[1]"])
def test_a_broken_card_is_explained(content: str, tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_text(content)
    with pytest.raises(FileFormatError, match="no oracle card"):
        type(CARD).read(path)


def test_a_quality_is_an_estimate_with_four_decimals() -> None:
    found = Quality.of(Estimate(0.123456, 0.1, 0.2, 7), 0.5)
    assert (found.value, found.n, found.trivial) == (0.1235, 7, 0.5)
