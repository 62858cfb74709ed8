"""``vgib models``."""

import json

from tests.cli.support import Run


def test_the_models_are_listed_with_their_quality(run: Run) -> None:
    done = run("models")
    assert done.code == 0
    for name in ("qed", "hlm", "mlm", "rlm", "drd2", "mutagenicity"):
        assert name in done.out
    assert "ROC AUC" in done.out


def test_json_holds_the_cards(run: Run) -> None:
    listed = json.loads(run("models", "--json").out)
    assert [card["name"] for card in listed] == sorted(card["name"] for card in listed)
    assert all(card["metrics"] and card["license"] for card in listed)


def test_an_unknown_model_is_a_misuse(run: Run) -> None:
    done = run("models", "train", "qedd")
    assert done.code == 2
    assert "did you mean 'qed'" in done.err


def test_a_shipped_model_is_taken_by_name(run: Run) -> None:
    done = run("recognize", "CC(=O)Nc1ccc(O)cc1", "--model", "qed", "--keep-ratio", "0.5")
    assert done.code == 0
    assert "CC(=O)Nc1ccc(O)cc1" in done.out
