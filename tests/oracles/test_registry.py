"""The contract of oracles, held over every registered name."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from vgib import oracles
from vgib.data.molecules import load_drugs
from vgib.errors import FileFormatError, UnknownNameError
from vgib.oracles import registry
from vgib.oracles.contract import Oracle
from vgib.oracles.learned import Learned

DRUGS = load_drugs()["smiles"].tolist()[:40]
ODD = ["", "oops", "C1CC", "  ", "c1cccc1", "\N{GREEK SMALL LETTER ALPHA}", "C" * 2000 + "(", "\0"]
LARGEST = 3_000_000


@pytest.fixture(params=registry.names())
def oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    yield oracles.get(request.param)


class TestContract:
    def test_gives_one_finite_number_for_each_molecule(self, oracle: Oracle) -> None:
        values = oracle(DRUGS)
        assert values.dtype == np.float64 and values.shape == (len(DRUGS),)
        assert np.isfinite(values).all()
        assert np.ptp(values) > 0

    def test_what_cannot_be_judged_is_nan_in_its_place(self, oracle: Oracle) -> None:
        values = oracle([DRUGS[0], *ODD, DRUGS[1]])
        assert np.isnan(values).tolist() == [False, *[True] * len(ODD), False]
        assert (values[[0, -1]] == oracle(DRUGS[:2])).all()

    def test_a_missing_text_is_not_judged(self, oracle: Oracle) -> None:
        assert np.isnan(oracle([None, float("nan")])).all()  # type: ignore[list-item]

    def test_no_molecules_have_no_values(self, oracle: Oracle) -> None:
        assert oracle([]).shape == (0,) and oracle([]).dtype == np.float64

    def test_values_follow_the_order_and_repeat_with_the_molecules(self, oracle: Oracle) -> None:
        order = np.random.default_rng(0).integers(0, len(DRUGS), 100)
        assert (oracle([DRUGS[i] for i in order]) == oracle(DRUGS)[order]).all()

    def test_a_list_gives_what_its_molecules_give_one_by_one(self, oracle: Oracle) -> None:
        one_by_one = [oracle.judge([text])[0] for text in DRUGS[:8]]
        assert oracle.judge(DRUGS[:8]) == pytest.approx(one_by_one, abs=1e-9)

    def test_is_asked_once_for_each_molecule(
        self, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = oracle(DRUGS)
        monkeypatch.setattr(oracle, "judge", None)  # would fail if it were called
        assert (oracle(DRUGS) == before).all()

    def test_odd_but_possible_molecules_are_no_exception(self, oracle: Oracle) -> None:
        odd = ["C", "O", "[Na+].[Cl-]", "*CC", "[H][H]", "[Og]", "[13CH4]", "C" * 400, "F[P-](F)F"]
        assert oracle(odd).shape == (len(odd),)


class TestCard:
    def test_says_what_a_user_must_know(self, oracle: Oracle) -> None:
        card = oracle.card
        assert card.name == oracle.name
        for said in ("about", "unit", "method", "split", "trivial", "domain", "license"):
            assert getattr(card, said), said

    def test_carries_the_held_out_quality_of_what_is_learned(self, oracle: Oracle) -> None:
        card = oracle.card
        if not isinstance(oracle, Learned):
            assert not card.quality and not card.command
            return
        assert card.headline in card.quality
        assert card.data and card.command == f"vgib oracles train {card.name}"
        for quality in card.quality.values():
            assert quality.low <= quality.value <= quality.high
            assert quality.n >= 100 and quality.trivial is not None

    def test_the_shown_form_names_it(self, oracle: Oracle) -> None:
        assert oracle.name in repr(oracle)


def test_every_learned_oracle_ships_a_file_and_a_card_and_nothing_else() -> None:
    shipped = {path.name for path in registry.FOLDER.iterdir()}
    assert shipped == {f"{name}.{end}" for name in registry.LEARNED for end in ("npz", "json")}


@pytest.mark.parametrize("name", registry.LEARNED)
def test_the_file_is_small_and_holds_plain_arrays(name: str) -> None:
    path = registry.FOLDER / f"{name}.npz"
    assert path.stat().st_size <= LARGEST
    for member in zipfile.ZipFile(path).namelist():
        assert member.endswith(".npy")
    with np.load(path, allow_pickle=False) as arrays:
        assert all(array.dtype.kind in "fiu" for array in arrays.values())


@pytest.mark.parametrize(
    ("name", "quality", "required"),
    [
        ("hlm_measured", "r2_random", 0.60),
        ("mlm_measured", "r2_random", 0.65),
        ("rlm_measured", "r2_random", 0.65),
        ("hlm_list", "membership_auc", 0.93),
        ("mlm_list", "membership_auc", 0.93),
        ("rlm_list", "membership_auc", 0.93),
        ("drd2", "roc_auc", 0.97),
    ],
)
def test_the_quality_is_what_was_asked_for(name: str, quality: str, required: float) -> None:
    found = oracles.get(name).card.quality[quality]
    assert found.value >= required
    assert found.trivial is not None and found.low > found.trivial


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'hlm_list'"):
        oracles.get("hlm_lst")


def test_the_same_name_gives_the_same_oracle() -> None:
    assert oracles.get("qed") is oracles.get("qed")


def test_a_missing_file_is_explained(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="vgib oracles train"):
        registry.LEARNED["drd2"].load(tmp_path, "drd2")


def test_the_page_shows_the_numbers_of_the_cards() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "oracles.md").read_text(encoding="utf-8")
    shown = [line for line in page.splitlines() if line.startswith("| `")]
    assert shown == [row(name, quality) for name, quality in DOCUMENTED]


def row(name: str, quality: str) -> str:
    """A line of the table in ``docs/oracles.md``."""
    found = oracles.get(name).card.quality[quality]
    interval = f"{found.low:.3f} to {found.high:.3f}"
    shown = f"{found.value:.3f} | {interval} | {found.trivial:z.3f} | {found.n:,} |"
    return f"| `{name}` | {quality} | {shown}"


DOCUMENTED = [
    (f"{species}_{kind}", quality)
    for kind, qualities in {
        "list": ("membership_auc", "membership_auc_scaffold", "value_r2", "value_r2_scaffold"),
        "measured": ("r2_random", "r2_scaffold", "mae_random", "mae_scaffold"),
    }.items()
    for species in ("hlm", "mlm", "rlm")
    for quality in qualities
] + [
    ("drd2", quality)
    for quality in ("roc_auc", "roc_auc_scaffold", "published_spearman", "published_accuracy")
]
