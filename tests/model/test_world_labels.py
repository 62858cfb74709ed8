"""Labels as the world has them, and scikit-learn's tools over graphs."""

import logging
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from torch_geometric.data import Data

from vgib.config import Architecture
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError, UnknownNameError
from vgib.model.labels import class_weights, task_of, with_labels
from vgib.model.recognizer import SubgraphRecognizer
from vgib.nn.net import Goal, build

SMILES = ["CC", "CCO", "CCC", "CCCO", "CCCC", "OCC", "CCCCC", "CO", "CC(C)C", "CC(O)C"] * 2
HAS_O = [int("O" in smiles) for smiles in SMILES]
QUICK = {"epochs": 2, "hidden": 8}


def test_floats_of_0_and_1_are_classes_and_it_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        model = SubgraphRecognizer("gin", "none", **QUICK).fit(SMILES, [float(y) for y in HAS_O])
    assert model.card_.task == "classification"
    assert caplog.text.count("all labels are 0.0 or 1.0 and taken for classes") == 1
    values = SubgraphRecognizer("gin", "none", task="regression", **QUICK)
    assert values.fit(SMILES, [float(y) for y in HAS_O]).card_.task == "regression"
    packed = PackedGraphs.from_data([Data(x=torch.ones(1, 1))] * 3)
    assert task_of(with_labels(packed, [0.0, 1.0, 0.5]))[0] == "regression"


def test_a_gap_has_no_error_and_the_rest_counts_as_without_it() -> None:
    net = build(
        encoder="gcn",
        bottleneck="none",
        cardinalities=None,
        in_channels=1,
        task="regression",
        outputs=2,
        architecture=Architecture.of(),
    )
    output = torch.tensor([[1.0, 5.0], [2.0, 2.0]], requires_grad=True)
    net.has_gaps = True
    losses = net.losses(output, torch.tensor([[3.0, torch.nan], [2.0, 4.0]]))
    assert losses.tolist() == [4.0, 2.0]
    losses.sum().backward()
    assert output.grad is not None
    assert output.grad.tolist() == [[-4.0, 0.0], [0.0, -2.0]]


def test_several_values_with_gaps_are_learned_and_judged() -> None:
    y = np.array([[len(smiles), HAS_O[i]] for i, smiles in enumerate(SMILES)], dtype=np.float32)
    y[::3, 0] = np.nan
    y[1::3, 1] = np.nan
    model = SubgraphRecognizer("gin", "vgib", epochs=2, hidden=8).fit(SMILES, y)
    assert model.predict(SMILES).shape == (20, 2)
    known = model.evaluate(SMILES, y)
    assert np.isfinite([known["mean_absolute_error"]["value"], known["r_squared"]["value"]]).all()
    assert torch.isfinite(model.network_.target_mean).all()
    with pytest.raises(InputError, match="no graph has a label number 1"):
        model.fit(SMILES, np.where([False, True], np.nan, y))
    y[4] = np.nan
    with pytest.raises(InputError, match="1 of 20 labels are NaN or infinite, the first of gra"):
        model.fit(SMILES, y)


def several_labels() -> np.ndarray:
    """Whether there is an oxygen, and whether there are more than three atoms; with gaps."""
    y = np.array([[HAS_O[i], len(smiles) > 3] for i, smiles in enumerate(SMILES)], dtype=float)
    y[3::7, 0] = np.nan
    y[4::7, 1] = np.nan
    return y


def test_several_labels_with_gaps_are_learned_saved_and_judged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    y = several_labels()
    known = ~np.isnan(y)
    with caplog.at_level(logging.WARNING):
        model = SubgraphRecognizer("gin", "vgib", epochs=60, lr=0.02, hidden=16).fit(
            SMILES, y, val=(SMILES, y)
        )
    assert "task='multilabel' is taken" in caplog.text
    said, chances = model.predict(SMILES), model.predict_proba(SMILES)
    assert said.shape == chances.shape == (20, 2)
    assert ((chances >= 0) & (chances <= 1)).all() and (said == (chances >= 0.5)).all()
    assert model.score(SMILES, y) == (said == y)[known].mean() > 0.9
    assert model.card_.task == "multilabel" and model.classes_.tolist() == [0, 1]
    found = model.recognize(SMILES[:2], rule="nodes", by="scores")
    assert found[1].prediction == pytest.approx(chances[1].tolist())
    part = model.subgraphs(SMILES[:2])[1]  # the smallest that suffices for both labels, if any
    assert all(set(each.nodes) <= {0, 1, 2} for each in part)
    judged = model.evaluate(SMILES, y)
    assert judged["accuracy"]["value"] > 0.9 > judged["control_commoner_label_accuracy"]["value"]
    assert judged["roc_auc"]["value"] > 0.9
    again = SubgraphRecognizer.load(model.save(tmp_path / "model"))
    np.testing.assert_array_equal(again.predict_proba(SMILES), chances)
    np.testing.assert_array_equal(again.scores(SMILES), model.scores(SMILES))
    assert again.score(SMILES, y) == model.score(SMILES, y)


def test_a_label_that_is_not_known_has_no_error() -> None:
    net = build(
        encoder="gcn",
        bottleneck="none",
        cardinalities=None,
        in_channels=1,
        task="multilabel",
        outputs=2,
        architecture=Architecture.of(),
    )
    output = torch.tensor([[0.0, 5.0], [2.0, -1.0]], requires_grad=True)
    losses = net.losses(output, torch.tensor([[1.0, torch.nan], [1.0, 0.0]]))
    by_hand = [np.log(2), (np.log1p(np.exp(-2)) + np.log1p(np.exp(-1))) / 2]
    assert losses.tolist() == pytest.approx(by_hand)
    losses.sum().backward()
    assert output.grad is not None and output.grad[0, 1] == 0
    torch.testing.assert_close(net.rescale(output), output.sigmoid())


def test_labels_are_told_from_values_and_classes() -> None:
    packed = PackedGraphs.from_data([Data(x=torch.ones(1, 1))] * 3)

    def told(y: object, wanted: Goal | None = None) -> str:
        return task_of(with_labels(packed, y), wanted)[0]

    assert told([[0, 1], [1, 1], [0, 0]]) == "multilabel"
    assert told([[0.0, np.nan], [1, 1], [0, 0]]) == "multilabel"
    assert told([[0.0, 0.5], [1, 1], [0, 0]]) == "regression"
    assert told([[0.0, 1], [1, 1], [0, 0]], "regression") == "regression"
    with pytest.raises(InputError, match="one label for each graph; got several"):
        told([[0, 1], [1, 1], [0, 0]], "classification")
    for wrong in ([0, 1, 1], [[0, 2], [1, 1], [0, 0]]):
        with pytest.raises(InputError, match="multilabel needs a row of labels for each graph"):
            told(wrong, "multilabel")
    values = SubgraphRecognizer("gin", "none", standardize=False, **QUICK)
    values.fit(SMILES, several_labels() + 0.5)  # gaps count for nothing in any unit
    assert np.isfinite(values.predict(SMILES)).all()
    assert is_classifier(SubgraphRecognizer(task="multilabel"))


def test_node_labels_of_graphs_of_one_size_are_not_taken_for_values() -> None:
    path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    data = [Data(x=torch.ones(3, 1), edge_index=path, y=torch.tensor([0, 1, 0]))] * 12
    with pytest.raises(InputError, match=r"one label for each node; .* shape \[1, values\]"):
        SubgraphRecognizer("gin", "none").fit(data)
    rows = [Data(x=torch.ones(3, 1), edge_index=path, y=torch.rand(1, 3))] * 12
    assert SubgraphRecognizer("gin", "none", **QUICK).fit(rows).predict(rows).shape == (12, 3)


def test_classes_count_as_they_are_told_to() -> None:
    y = torch.tensor([0, 0, 0, 1])
    assert class_weights(y, 2, "balanced").tolist() == pytest.approx([2 / 3, 2.0])  # type: ignore[union-attr]
    assert class_weights(y, 2, None) is None
    for wrong in ("balance", [1.0], [-1.0, 2.0]):
        with pytest.raises(InputError, match="class_weight"):
            class_weights(y, 2, wrong)  # type: ignore[arg-type]
    model = SubgraphRecognizer("gin", "none", class_weight=[0.0, 1.0], epochs=60, lr=0.05)
    assert (model.fit(SMILES, HAS_O).predict(SMILES) == 1).all()
    assert "class_weight" not in model.network_.state_dict()


def test_a_bottleneck_that_keeps_nearly_everything_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        SubgraphRecognizer("gin", "none", **QUICK).fit(SMILES, HAS_O)
        assert not caplog.records
        SubgraphRecognizer("gin", "vgib", beta=0.0, **(QUICK | {"epochs": 40})).fit(SMILES, HAS_O)
    assert "subgraphs are nearly whole graphs; raise beta=" in caplog.text


def test_scikit_learns_tools_work_on_graphs() -> None:
    model = SubgraphRecognizer("gin", "none", task="classification", **QUICK)
    again = clone(model)
    assert repr(again) == repr(model)
    assert is_classifier(model)
    assert is_regressor(SubgraphRecognizer(task="regression"))
    assert model.set_params(epochs=1, hidden=4) is model
    assert model.settings().architecture.hidden == 4
    with pytest.raises(UnknownNameError, match="did you mean 'epochs'"):
        model.set_params(epoch=3)
    assert len(cross_val_score(model, SMILES, HAS_O, cv=2)) == 2
    search = GridSearchCV(model, {"hidden": [4, 8]}, cv=2).fit(SMILES, HAS_O)
    assert search.best_params_["hidden"] in (4, 8)
    fitted = search.best_estimator_
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.score(SMILES, HAS_O) == (fitted.predict(SMILES) == HAS_O).mean()
    with pytest.raises(AttributeError, match="only a trained classifier"):
        _ = SubgraphRecognizer().classes_
