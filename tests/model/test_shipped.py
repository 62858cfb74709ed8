"""The shipped models: found by name, small, and as good as their cards say they are."""

from pathlib import Path

import numpy as np
import pytest

from vgib.chem.vocabulary import RICH
from vgib.data.molecules import load_drugs
from vgib.errors import InputError, UnknownNameError
from vgib.model import shipped as zoo
from vgib.model.recognizer import SubgraphRecognizer

NAMES = ("drd2", "hlm", "mlm", "mutagenicity", "qed", "rlm")
LARGEST = 1_500_000
DRUGS = load_drugs()["smiles"].tolist()[:20]


def test_these_models_ship() -> None:
    assert tuple(zoo.names()) == NAMES


@pytest.mark.parametrize("name", NAMES)
class TestModel:
    def test_is_found_by_its_name_and_predicts(self, name: str) -> None:
        model = SubgraphRecognizer.load(name)
        assert np.isfinite(model.predict(DRUGS)).all()
        (part,) = model.subgraphs(DRUGS[:1], keep_ratio=0.5)[0]
        assert part.smiles

    def test_is_small_and_holds_nothing_but_weights_and_cards(self, name: str) -> None:
        files = [path for path in zoo.find(name).rglob("*") if path.is_file()]
        assert sum(path.stat().st_size for path in files) < LARGEST
        names = {path.name for path in files}
        assert names - {"known.safetensors"} == {"model.safetensors", "card.json"}

    def test_has_members_that_agree_more_or_less(self, name: str) -> None:
        models = SubgraphRecognizer.load(name).members()
        assert len(models) == 3
        assert len({model.card_.training["seed"] for model in models}) == 3
        values = np.stack([np.asarray(model.predict(DRUGS), float) for model in models])
        assert not np.array_equal(values[0], values[1])

    def test_has_a_card_with_all_that_a_user_must_know(self, name: str) -> None:
        card = zoo.cards()[name]
        assert card.summary and card.unit and card.license
        assert card.features == "rich" and card.features_version == RICH.version
        assert card.data["sources"] and card.data["split"] and len(card.data["sha256"]) == 64
        quality = card.metrics[card.headline]
        assert quality["low"] <= quality["value"] <= quality["high"] and quality["n"] > 100
        assert any(metric.startswith("control_") for metric in card.metrics)
        assert f"{card.headline}_all_members" in card.metrics
        assert f"{card.headline}_new_scaffolds" in card.metrics


@pytest.mark.parametrize("name", NAMES)
def test_the_page_says_what_the_card_says(name: str) -> None:
    card = zoo.cards()[name]
    page = (Path(__file__).resolve().parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {name} |")]
    part = ("gap_closed_half_all_members", "iou_all_members")
    for metric in (card.headline, f"{card.headline}_new_scaffolds", *part):
        if found := card.metrics.get(metric):
            value, low, high = (f"{found[key]:.3f}" for key in ("value", "low", "high"))
            assert f"{value} [{low}, {high}]" in row


def test_a_folder_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert zoo.find("qed") == zoo.SHIPPED / "qed"
    Path("qed").mkdir()
    assert zoo.find("qed") == Path("qed")


def test_an_unknown_name_gets_a_suggestion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownNameError, match="did you mean 'qed'"):
        SubgraphRecognizer.load("qedd")
    with pytest.raises(InputError, match="there is no model folder"):
        SubgraphRecognizer.load("./qed")
