"""scikit-learn's verbs over the method: every kind of input, every task, and every mistake."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rdkit import Chem
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from torch import Tensor, nn
from torch_geometric.data import Batch, Data, InMemoryDataset
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv
from torch_geometric.nn.models import GIN as PygGIN

from vgib.chem.properties import qed
from vgib.config import PRESETS, preset
from vgib.data.molecules import Molecules, from_smiles, load_drugs
from vgib.data.packed import PackedGraphs
from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import InputError, NotFittedError, UnknownNameError, VgibError
from vgib.model.recognizer import SubgraphRecognizer
from vgib.nn.bottleneck import Bottleneck, Encoded, Perturbed, bottlenecks
from vgib.nn.layers import LAYERS
from vgib.nn.vgib import NodeVGIB
from vgib.train.loop import train

TINY: dict[str, Any] = {"hidden": 8, "depth": 2, "head_hidden": 8, "epochs": 2, "batch_size": 16}
MOTIFS = generate_ba2motifs(30)
SMILES = load_drugs()["smiles"].tolist()[:30]
QED = qed(SMILES)
MOLECULES: PackedGraphs = from_smiles(SMILES, QED).graphs


def recognizer(*parts: Any, **options: Any) -> SubgraphRecognizer:
    return SubgraphRecognizer(*parts, **(TINY | options))


def validated(model: SubgraphRecognizer) -> list[int]:
    """Of each epoch, whether it was validated."""
    return [int("val_loss" in epoch) for epoch in model.history_.epochs]


def unlabeled(graphs: PackedGraphs) -> PackedGraphs:
    return replace(graphs, y=None)


@pytest.fixture(scope="module")
def of_motifs() -> SubgraphRecognizer:
    return recognizer().fit(MOTIFS)


@pytest.fixture(scope="module")
def of_molecules() -> SubgraphRecognizer:
    return recognizer().fit(SMILES, QED)


class Stored(InMemoryDataset):  # type: ignore[misc]  # PyG ships no types
    """Graphs as a PyG dataset that needs no folder."""

    def __init__(self, graphs: list[Data]) -> None:
        super().__init__()
        self.data, self.slices = self.collate(graphs)


class OwnEncoder(nn.Module):
    """A user's module: two layers of PyG, nothing of ours."""

    def __init__(self, inputs: int = 1, width: int = 6) -> None:
        super().__init__()
        self.first, self.second = GCNConv(inputs, width), GCNConv(width, width)
        self.out_channels = width

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.second(self.first(x, edge_index).relu(), edge_index)  # type: ignore[no-any-return]


class OwnBottleneck(Bottleneck):
    """A user's bottleneck: one linear score, which weights the readout."""

    def __init__(self, channels: int, slope=1.0, kind: str = "plain") -> None:  # type: ignore[no-untyped-def]
        super().__init__()
        self.score = nn.Linear(channels, 1)
        self.slope = slope
        self.kind = kind

    def forward(self, encoded: Encoded) -> Perturbed:
        scores = torch.sigmoid(self.slope * self.score(encoded.h).squeeze(1))
        return Perturbed(graph=encoded.pool(encoded.h, scores), scores=scores)


# ---- the verbs, by task --------------------------------------------------------------------------


def test_copies_are_untrained_and_count_their_seeds_up() -> None:
    first, second = SubgraphRecognizer("gin", hidden=8, seed=4).copies(2)
    assert [first.settings().training.seed, second.settings().training.seed] == [4, 5]
    assert second.settings().architecture.hidden == 8 and not hasattr(second, "network_")
    assert SubgraphRecognizer().copies(2)[1].settings().training.seed == 1


def test_what_is_different_around_the_encoder_for_molecules_goes_with_it() -> None:
    def readout(*given: str, **options: Any) -> str:
        return SubgraphRecognizer(*given, **options).settings().architecture.readout

    assert readout("gine-skip") == "norm"
    assert readout("gine-skip", readout="mean") == "mean"
    assert readout("gine") == "sum"
    assert SubgraphRecognizer().settings("gine-skip").architecture.readout == "norm"
    assert readout("gine-skip", preset="paper") == "sum"


def test_who_says_how_many_epochs_means_as_many() -> None:
    assert SubgraphRecognizer(epochs=3).settings().training.steps == 0
    assert SubgraphRecognizer().settings().training.steps > 0


def test_regression_gives_one_value_for_each_graph(of_molecules: SubgraphRecognizer) -> None:
    values = of_molecules.predict(SMILES)
    assert values.shape == (30,) and values.dtype == np.float32 and np.isfinite(values).all()
    assert of_molecules.card_.task == "regression" and of_molecules.card_.classes is None
    # Standardized targets: the predictions are in the units of the labels from the first epoch on.
    assert abs(values.mean() - QED.mean()) < 3 * QED.std()


def test_several_targets_are_learned_together() -> None:
    both = np.stack([QED, 100 * QED], axis=1)
    model = recognizer(epochs=5).fit(SMILES, both)
    assert model.predict(SMILES).shape == (30, 2)
    assert model.predict(SMILES)[:, 1].mean() == pytest.approx(100 * QED.mean(), rel=0.5)
    assert model.recognize(SMILES[:1])[0].prediction == pytest.approx(
        model.predict(SMILES[:1])[0].tolist()
    )
    assert model.evaluate(SMILES, both)["r_squared"]["n"] == 30


def test_a_column_of_labels_is_one_label_each() -> None:
    as_row = recognizer().fit(SMILES, QED).predict(SMILES)
    as_column = recognizer().fit(SMILES, QED[:, None]).predict(SMILES)
    assert np.array_equal(as_row, as_column)
    classes = MOTIFS.y.reshape(-1, 1)
    assert recognizer().fit(unlabeled(MOTIFS), classes).card_.classes == [0, 1]


def test_two_classes_get_probabilities_that_agree_with_the_prediction(
    of_motifs: SubgraphRecognizer,
) -> None:
    probability = of_motifs.predict_proba(MOTIFS)
    assert probability.shape == (30, 2)
    assert probability.sum(1) == pytest.approx(1, abs=1e-6)
    assert np.array_equal(of_motifs.predict(MOTIFS), probability.argmax(1))


def test_classes_may_be_any_whole_numbers() -> None:
    y = torch.where(MOTIFS.y == 1, 1, -1)
    model = recognizer("gin", "vgib-paper", epochs=30, lr=1e-2).fit(unlabeled(MOTIFS), y)
    plain = recognizer("gin", "vgib-paper", epochs=30, lr=1e-2).fit(MOTIFS)
    assert model.card_.classes == [-1, 1]
    assert set(model.predict(MOTIFS)) == {-1, 1}
    # The names of the classes change nothing but the names.
    assert np.array_equal(model.predict(MOTIFS) == 1, plain.predict(MOTIFS) == 1)
    assert model.evaluate(unlabeled(MOTIFS), y)["accuracy"] == plain.evaluate(MOTIFS)["accuracy"]


def test_more_than_two_classes_are_learned() -> None:
    model = recognizer().fit(SMILES, np.arange(30) % 3 * 10)
    assert model.predict_proba(SMILES).shape == (30, 3)
    assert set(model.predict(SMILES)) <= {0, 10, 20}
    assert model.card_.outputs == 3
    quality = model.evaluate(SMILES, np.arange(30) % 3 * 10)
    assert quality["control_commonest_class_accuracy"]["value"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("y", [[True, False] * 15, np.tile([0.0, 1.0], 15)])
def test_the_task_can_be_said_where_the_type_of_the_labels_does_not_tell(y: Any) -> None:
    model = recognizer(task="classification").fit(SMILES, y)
    assert model.card_.classes == [0, 1]
    counted = recognizer(task="regression").fit(SMILES, [1, 2, 3] * 10)
    assert counted.card_.task == "regression"


def test_it_learns_what_can_be_learned() -> None:
    graphs = generate_ba2motifs(200, seed=3)
    model = recognizer("gin", epochs=25, lr=1e-2, hidden=16).fit(graphs)
    assert (model.predict(MOTIFS) == MOTIFS.y.numpy()).mean() > 0.9


def test_scores_are_packed_like_the_graphs_and_lie_between_0_and_1(
    of_motifs: SubgraphRecognizer,
) -> None:
    scores = of_motifs.scores(MOTIFS)
    assert scores.shape == (MOTIFS.num_nodes,)
    assert scores.min() >= 0 and scores.max() <= 1
    assert np.allclose(scores[25:50], of_motifs.scores(MOTIFS[[1]]), atol=1e-6)


def test_recognize_says_what_the_other_verbs_say(of_molecules: SubgraphRecognizer) -> None:
    found = of_molecules.recognize(SMILES, 2, keep_ratio=[0.3, 0.6])
    subgraphs = of_molecules.subgraphs(SMILES, 2, keep_ratio=[0.3, 0.6])
    assert [list(item.subgraphs) for item in found] == subgraphs
    assert [item.prediction for item in found] == of_molecules.predict(SMILES).tolist()
    assert np.concatenate([item.scores for item in found]) == pytest.approx(
        of_molecules.scores(SMILES)
    )
    assert [item.name for item in found] == list(MOLECULES.ids)


def test_evaluate_puts_a_control_beside_each_number(of_motifs: SubgraphRecognizer) -> None:
    quality = of_motifs.evaluate(MOTIFS)
    assert {"accuracy", "roc_auc", "kept_share", "subgraph_same_class", "node_auc"} < set(quality)
    assert quality["control_commonest_class_accuracy"]["value"] == 0.5
    assert quality == of_motifs.evaluate(MOTIFS)
    assert quality != of_motifs.evaluate(MOTIFS, seed=1)


def test_fit_returns_the_model_and_tells_of_every_epoch() -> None:
    model, seen = recognizer(epochs=3), []
    assert model.fit(MOTIFS, on_epoch=seen.append) is model
    assert [epoch["epoch"] for epoch in seen] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [epoch["stage"] for epoch in seen] == [1, 1, 1, 2, 2, 2, 3, 4]
    assert seen == model.history_.epochs


# ---- what it takes -------------------------------------------------------------------------------


KINDS: dict[str, Callable[[PackedGraphs], Any]] = {
    "list": lambda graphs: graphs.to_data_list(),
    "dataset": lambda graphs: Stored(graphs.to_data_list()),
    "batch": lambda graphs: Batch.from_data_list(graphs.to_data_list()),
    "loader": lambda graphs: DataLoader(graphs.to_data_list(), batch_size=7),
    "generator": iter,
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_graphs_give_the_same_model_in_every_kind(
    kind: str, of_motifs: SubgraphRecognizer
) -> None:
    model = recognizer().fit(KINDS[kind](MOTIFS))
    expected = of_motifs.predict_proba(MOTIFS)
    assert np.array_equal(model.predict_proba(MOTIFS), expected)
    assert np.array_equal(of_motifs.predict_proba(KINDS[kind](MOTIFS)), expected)


@pytest.mark.parametrize(
    "smiles", [SMILES, tuple(SMILES), np.array(SMILES), from_smiles(SMILES), MOLECULES]
)
def test_the_same_molecules_give_the_same_model_in_every_kind(
    smiles: Any, of_molecules: SubgraphRecognizer
) -> None:
    model = recognizer().fit(smiles, QED)
    assert np.array_equal(model.predict(smiles), of_molecules.predict(SMILES))
    assert model.subgraphs(smiles) == of_molecules.subgraphs(SMILES)
    assert model.card_.features == "rich"


def test_molecules_as_pyg_data_are_still_molecules_to_a_trained_model(
    of_molecules: SubgraphRecognizer,
) -> None:
    data = MOLECULES[:5].to_data_list()
    assert np.array_equal(of_molecules.predict(data), of_molecules.predict(SMILES[:5]))
    assert of_molecules.subgraphs(data) == of_molecules.subgraphs(SMILES[:5])


@pytest.mark.parametrize(
    ("task", "kind", "several"),
    [
        (None, "classifier", False),
        ("classification", "classifier", False),
        ("multilabel", "classifier", True),
        ("regression", "regressor", True),
    ],
)
def test_scikit_learn_is_told_what_the_task_is(task: Any, kind: str, several: bool) -> None:
    tags = SubgraphRecognizer(task=task).__sklearn_tags__()
    assert (tags.estimator_type, tags.target_tags.multi_output) == (kind, several)
    assert (tags.classifier_tags is None) == (tags.regressor_tags is not None)
    assert tags.classifier_tags is None or tags.classifier_tags.multi_label == (
        task == "multilabel"
    )


def test_the_atom_vocabulary_can_be_chosen() -> None:
    model = recognizer(features="element").fit(SMILES, QED)
    assert model.card_.features == "element" and model.card_.in_channels == 1
    assert model.predict(SMILES).shape == (30,)


def test_integer_codes_beyond_the_training_set_are_read() -> None:
    graphs = [
        Data(x=torch.tensor([[i % 3], [0]]), edge_index=torch.tensor([[0, 1], [1, 0]]), y=i % 2)
        for i in range(12)
    ]
    model = recognizer().fit(graphs)
    stranger = Data(x=torch.tensor([[9], [0]]), edge_index=torch.tensor([[0, 1], [1, 0]]))
    last = Data(x=torch.tensor([[2], [0]]), edge_index=torch.tensor([[0, 1], [1, 0]]))
    assert np.array_equal(model.predict_proba([stranger]), model.predict_proba([last]))


def test_validation_graphs_come_with_labels_or_in_a_pair() -> None:
    val = generate_ba2motifs(10, seed=1)
    inside = recognizer().fit(MOTIFS, val=val)
    pair = recognizer().fit(MOTIFS, val=(unlabeled(val).to_data_list(), val.y.numpy()))
    assert inside.history_.curve("val_loss") == pair.history_.curve("val_loss")
    assert inside.card_.data["split"] == "validation graphs given"
    smiles = recognizer().fit(SMILES[:20], QED[:20], val=(SMILES[20:], QED[20:]))
    assert validated(smiles) == [1, 1, 0, 0, 0, 0]  # only the first stage selects its epoch


def test_by_default_a_tenth_of_the_graphs_validates(of_motifs: SubgraphRecognizer) -> None:
    assert "10%" in of_motifs.card_.data["split"]
    assert validated(of_motifs) == [1, 1, 0, 0, 0, 0]  # only the first stage selects its epoch
    few = recognizer().fit(MOTIFS[:9])
    assert few.card_.data["split"] == "no validation graphs"
    assert "val_loss" not in few.history_.epochs[0]


def test_graphs_that_validate_do_not_train() -> None:
    given: dict[str, Any] = {}

    def watched(net: Any, graphs: PackedGraphs, **options: Any) -> Any:
        given.update(options, graphs=graphs)
        return train(net, graphs, **options)

    recognizer().fit(SMILES, QED, loop=watched)
    trained, validated = given["graphs"][given["index"]].ids, given["val"].ids
    assert len(trained) == 27 and len(validated) == 3
    assert set(trained) | set(validated) == set(MOLECULES.ids)


def test_values_are_standardized_by_the_graphs_that_train() -> None:
    whole = recognizer(select="last").fit(SMILES, 100 * QED).net_
    assert whole.target_mean.item() == pytest.approx(100 * QED.mean(), rel=1e-5)
    assert whole.target_std.item() == pytest.approx(100 * QED.std(), rel=1e-5)
    outlier = np.append(QED[:20], 1e6)
    given = recognizer().fit(SMILES[:20], QED[:20], val=(SMILES[:21], outlier)).net_
    assert given.target_mean.item() == pytest.approx(QED[:20].mean(), rel=1e-5)
    as_they_are = recognizer(standardize=False).fit(SMILES, 100 * QED).net_
    assert as_they_are.target_std.item() == 1


def test_a_checkpoint_goes_through(tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    paper = {"bottleneck": "vgib-paper", "cosine": False}
    recognizer(**paper, epochs=2).fit(MOTIFS, checkpoint=str(path))
    resumed = recognizer(**paper, epochs=4).fit(MOTIFS, checkpoint=path)
    assert len(resumed.history_.epochs) == 4
    straight = recognizer(**paper, epochs=4).fit(MOTIFS)
    assert np.array_equal(straight.predict_proba(MOTIFS), resumed.predict_proba(MOTIFS))


# ---- odd graphs ----------------------------------------------------------------------------------


def test_molecules_of_one_atom_and_of_500_are_recognized(of_molecules: SubgraphRecognizer) -> None:
    chain = "C" * 500
    small, large = of_molecules.recognize(["C", chain], keep_ratio=0.5)
    assert small.subgraphs[0].nodes == (0,) and small.subgraphs[0].smiles == "C"
    assert len(large.subgraphs[0].nodes) == 250 and len(large.scores) == 500
    assert np.isfinite([small.prediction, large.prediction]).all()
    assert recognizer().fit(["C", chain, "CC", "N"], [0.0, 1.0, 0.5, 0.2]).predict(["C"]).shape == (
        1,
    )


def test_isotopes_look_like_their_elements(of_molecules: SubgraphRecognizer) -> None:
    labeled, plain = of_molecules.predict(["[13CH3]CO", "CCO"])
    assert labeled == pytest.approx(plain, abs=1e-6)


@pytest.mark.parametrize("bottleneck", bottlenecks.names())
def test_graphs_without_edges_or_without_nodes_are_taken(bottleneck: str) -> None:
    edgeless = [Data(x=torch.rand(n, 2), y=n % 2) for n in (1, 2, 3, 4, 1, 2)]
    model = recognizer(bottleneck=bottleneck).fit(edgeless)
    assert np.isfinite(model.predict_proba(edgeless)).all()
    assert [len(found[0].nodes) for found in model.subgraphs(edgeless, keep_ratio=1.0)] == [1] * 6
    empty = Data(x=torch.zeros(0, 2), edge_index=torch.zeros(2, 0, dtype=torch.int64), y=0)
    with_empty = [*edgeless, empty]
    assert np.isfinite(model.predict_proba(with_empty)).all()
    assert model.recognize(with_empty)[-1].subgraphs == ()
    assert np.isfinite(model.evaluate(with_empty)["subgraph_same_class"]["value"])


def test_a_subgraph_that_keeps_nothing_is_still_judged(of_motifs: SubgraphRecognizer) -> None:
    nothing = MOTIFS.induced(torch.zeros(MOTIFS.num_nodes, dtype=torch.bool))
    probability = of_motifs.predict_proba(nothing)
    assert probability.shape == (30, 2)
    assert np.allclose(probability, probability[0])


def test_labels_that_are_all_equal_can_be_regressed() -> None:
    model = recognizer().fit(SMILES, np.full(30, 7.0))
    assert model.predict(SMILES) == pytest.approx(7, abs=3)


# ---- randomness and parameters -------------------------------------------------------------------


def test_the_same_seed_gives_the_same_model_and_another_seed_another(
    of_motifs: SubgraphRecognizer,
) -> None:
    again, other = recognizer().fit(MOTIFS), recognizer(seed=1).fit(MOTIFS)
    assert np.array_equal(again.scores(MOTIFS), of_motifs.scores(MOTIFS))
    assert not np.allclose(other.scores(MOTIFS), of_motifs.scores(MOTIFS))


def test_the_global_random_state_is_left_alone(of_motifs: SubgraphRecognizer) -> None:
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002  # the global state is what this test is about
    before = torch.get_rng_state(), np.random.get_state()[1]  # noqa: NPY002
    recognizer("gin", "gib").fit(MOTIFS[:12]).evaluate(MOTIFS[:12])
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002


def test_training_again_forgets_the_training_before() -> None:
    model = recognizer().fit(MOTIFS)
    model.fit(SMILES, QED)  # other graphs, other features, another task
    assert np.array_equal(model.predict(SMILES), recognizer().fit(SMILES, QED).predict(SMILES))


def test_scikit_learn_can_clone_it(of_motifs: SubgraphRecognizer) -> None:
    model = recognizer("gin", "gsat", task="regression", features="element", seed=4)
    copy = clone(model)
    assert copy is not model and copy.get_params() == model.get_params()
    assert repr(copy) == repr(model)
    assert not hasattr(clone(of_motifs), "net_")
    own = clone(recognizer(OwnEncoder(), OwnBottleneck(6)))
    assert isinstance(own.encoder, OwnEncoder)


def test_a_bottleneck_that_is_not_given_follows_the_preset_also_later() -> None:
    model = SubgraphRecognizer(epochs=1)
    assert clone(model).set_params(preset="paper").bottleneck == "vgib-paper"
    assert model.set_params(preset="paper").set_params(preset="recommended").bottleneck == "vgib"
    given = SubgraphRecognizer(bottleneck="gsat", epochs=1)
    assert clone(given).set_params(preset="paper").bottleneck == "gsat"


def test_a_trained_model_of_values_is_a_regressor_to_scikit_learn() -> None:
    scores = cross_val_score(recognizer(), SMILES, QED, cv=2, scoring="r2", error_score="raise")
    assert np.isfinite(scores).all()


def test_an_encoder_must_be_a_name_or_a_module_that_is_made() -> None:
    for wrong in (PygGIN, 5):
        with pytest.raises(InputError, match="expected a name, or a module that is made already"):
            SubgraphRecognizer(wrong)  # type: ignore[arg-type]


def test_an_encoder_of_another_width_is_refused_before_training() -> None:
    with pytest.raises(InputError, match="reads 4 channels, but the nodes have 1"):
        recognizer(PygGIN(4, 8, 1)).fit(MOTIFS)
    coded = replace(MOTIFS, x=torch.zeros(MOTIFS.num_nodes, 1).long(), cardinalities=(4,))
    with pytest.raises(InputError, match="integer features are embedded in hidden= channels"):
        recognizer(PygGIN(1, 8, 1)).fit(coded)
    with pytest.raises(InputError, match="reads an unknown number of channels"):
        recognizer(PygGIN(-1, 8, 1)).fit(MOTIFS)


def test_a_preset_fills_what_is_not_given() -> None:
    for name in PRESETS:
        settings = SubgraphRecognizer(preset=name, epochs=7).settings()
        expected = preset(name)
        assert settings.training.epochs == 7
        assert settings.architecture.hidden == expected.architecture["hidden"]
        assert settings.bottleneck == expected.bottleneck
    # The settings of VGIB are VGIB's, by name or by class, and nobody else's.
    assert SubgraphRecognizer(bottleneck=NodeVGIB).settings() == SubgraphRecognizer().settings()
    assert SubgraphRecognizer(bottleneck="gsat").settings().bottleneck == {}
    assert SubgraphRecognizer(beta=0.5).settings().bottleneck["beta"] == 0.5


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_trains(name: str) -> None:
    model = SubgraphRecognizer(preset=name, epochs=1).fit(SMILES[:12], QED[:12])
    assert np.isfinite(model.predict(SMILES)).all()


@pytest.mark.parametrize("bottleneck", bottlenecks.names())
@pytest.mark.parametrize("encoder", LAYERS)
def test_every_combination_trains_recognizes_and_comes_back(
    encoder: str, bottleneck: str, tmp_path: Path
) -> None:
    model = recognizer(encoder, bottleneck, epochs=1).fit(MOTIFS[:12])
    scores = model.scores(MOTIFS[:4])
    assert scores.min() >= 0 and scores.max() <= 1
    assert [len(found[0].nodes) for found in model.subgraphs(MOTIFS[:4], keep_ratio=0.2)] == [5] * 4
    model.save(tmp_path)
    assert np.array_equal(SubgraphRecognizer.load(tmp_path).scores(MOTIFS[:4]), scores)


# ---- a plain module, and parts of one's own ------------------------------------------------------


def test_the_net_is_a_plain_module_that_predicts_the_same(
    of_motifs: SubgraphRecognizer, of_molecules: SubgraphRecognizer
) -> None:
    batch = Batch.from_data_list(MOTIFS.to_data_list())
    with torch.no_grad():
        logits = of_motifs.net_(batch.x, batch.edge_index, batch.batch)
        molecule = MOLECULES[3]  # its bonds are read too
        value = of_molecules.net_(molecule.x, molecule.edge_index, edge_attr=molecule.edge_attr)
    assert np.allclose(logits.softmax(1).numpy(), of_motifs.predict_proba(MOTIFS), atol=1e-5)
    assert value.item() == pytest.approx(of_molecules.predict(SMILES[3:4])[0], abs=1e-5)


def test_an_own_encoder_and_an_own_bottleneck_are_trained_saved_and_loaded(tmp_path: Path) -> None:
    encoder, bottleneck = OwnEncoder(), OwnBottleneck(6)
    model = recognizer(encoder, bottleneck).fit(MOTIFS)
    model.save(tmp_path)
    assert model.card_.encoder == "custom:OwnEncoder"
    loaded = SubgraphRecognizer.load(tmp_path, encoder=OwnEncoder(), bottleneck=OwnBottleneck(6))
    assert np.array_equal(loaded.scores(MOTIFS), model.scores(MOTIFS))
    assert np.array_equal(loaded.predict_proba(MOTIFS), model.predict_proba(MOTIFS))
    with pytest.raises(InputError, match=r"your own encoder OwnEncoder; pass encoder="):
        SubgraphRecognizer.load(tmp_path, bottleneck=bottleneck)
    with pytest.raises(InputError, match=r"your own bottleneck OwnBottleneck; pass bottleneck="):
        SubgraphRecognizer.load(tmp_path, encoder=encoder)
    with pytest.raises(VgibError, match="cannot be used"):
        SubgraphRecognizer.load(tmp_path, encoder=OwnEncoder(width=5), bottleneck=OwnBottleneck(5))


def test_the_users_own_modules_are_not_changed() -> None:
    encoder, bottleneck = OwnEncoder(), OwnBottleneck(6)
    before = [p.detach().clone() for p in (*encoder.parameters(), *bottleneck.parameters())]
    model = recognizer(encoder, bottleneck)
    first = model.fit(MOTIFS).scores(MOTIFS)
    after = [*encoder.parameters(), *bottleneck.parameters()]
    assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))
    assert np.array_equal(model.fit(MOTIFS).scores(MOTIFS), first)


def test_an_own_bottleneck_may_be_a_class_whose_options_are_kept(tmp_path: Path) -> None:
    model = recognizer("gcn", OwnBottleneck, slope=3.0, kind="steep").fit(MOTIFS)
    assert model.net_.bottleneck.slope == 3.0
    model.save(tmp_path)
    loaded = SubgraphRecognizer.load(tmp_path, bottleneck=OwnBottleneck)
    assert loaded.net_.bottleneck.slope == 3.0 and loaded.net_.bottleneck.kind == "steep"
    assert np.array_equal(loaded.scores(MOTIFS), model.scores(MOTIFS))
    built = SubgraphRecognizer.load(tmp_path, bottleneck=OwnBottleneck(8, slope=3.0))
    assert np.array_equal(built.scores(MOTIFS), model.scores(MOTIFS))


def test_a_model_of_pyg_is_an_encoder() -> None:
    encoder = PygGIN(1, 8, num_layers=2)
    model = recognizer(encoder).fit(MOTIFS)
    assert np.isfinite(model.predict_proba(MOTIFS)).all()


def test_an_own_encoder_on_molecules_gets_embedded_atoms() -> None:
    model = recognizer(OwnEncoder(inputs=8)).fit(SMILES, QED)
    found = model.subgraphs(SMILES[:3], keep_ratio=0.5)
    assert all(Chem.MolFromSmiles(item[0].smiles) is not None for item in found)


def test_parts_that_share_weights_are_saved(tmp_path: Path) -> None:
    class Tied(OwnEncoder):
        def __init__(self) -> None:
            super().__init__(inputs=6)
            self.second = self.first

    data = [replace_x(item, 6) for item in MOTIFS]
    model = recognizer(Tied()).fit(data)
    model.save(tmp_path)
    loaded = SubgraphRecognizer.load(tmp_path, encoder=Tied())
    assert np.array_equal(loaded.scores(data), model.scores(data))


def replace_x(data: Data, width: int) -> Data:
    data.x = torch.ones(data.num_nodes, width)
    return data


# ---- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["predict", "predict_proba", "scores", "subgraphs", "recognize"])
def test_an_untrained_model_says_so(verb: str, tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="call fit, or load"):
        getattr(recognizer(), verb)(MOTIFS)
    with pytest.raises(NotFittedError, match="call fit"):
        recognizer().evaluate(MOTIFS)
    with pytest.raises(NotFittedError, match="call fit before save"):
        recognizer().save(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epoch": 3}, "did you mean 'epochs'"),
        ({"betta": 3}, "did you mean 'beta'"),
        ({"bottleneck": "attention", "beta": 0.1}, "no option named 'beta'"),
        ({"bottleneck": "vgibb"}, "did you mean 'vgib'"),
        ({"encoder": "gcm"}, "did you mean 'gcn'"),
        ({"preset": "papers"}, "did you mean 'paper'"),
        ({"features": "rick"}, "did you mean 'rich'"),
        ({"task": "classify"}, "did you mean 'classification'"),
        ({"channels": 3}, "no option named 'channels'"),
        ({"bottleneck": OwnBottleneck(8), "slope": 1.0}, "no option named 'slope'"),
    ],
)
def test_an_unknown_name_is_answered_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        SubgraphRecognizer(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"epochs": 0},
        {"lr": "fast"},
        {"readout": "max"},
        {"beta": "abc"},
        {"beta": float("nan")},
        {"bottleneck": "vgib-paper", "prior": "mine"},
        {"bottleneck": "gib", "predict_from": "nothing"},
        {"bottleneck": "gsat", "rate": "high"},
        {"device": "gpu"},
        {"device": "cuda:99"},
    ],
)
def test_a_wrong_value_is_answered_at_once_and_quoted(options: dict[str, Any]) -> None:
    name = [*options][-1]
    with pytest.raises(InputError) as caught:
        SubgraphRecognizer(**options)
    assert name in str(caught.value) and repr(options[name]) in str(caught.value)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.where(np.arange(30) == 4, np.nan, QED), "1 of 30 labels are NaN or infinite"),
        (np.where(np.arange(30) == 4, np.inf, QED), "the first of graph 4"),
        ([1] * 30, "at least two classes; all are 1"),
        (QED[:29], r"30 graphs and labels of shape \(29,\)"),
        (0.5, r"labels of shape \(\)"),
        (np.zeros((30, 2, 2)), r"shape \(30, 2, 2\)"),
        (["yes", "no"] * 15, "must be numbers.*got 'yes'"),
        ([None, 1.0] * 15, "must be numbers.*got None"),
        (None, "carry no labels"),
        (np.zeros((30, 2), dtype=int), "one label for each graph; got several"),
    ],
)
def test_labels_that_cannot_be_used_are_answered(y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        recognizer().fit(SMILES, y)


def test_classes_must_be_whole() -> None:
    with pytest.raises(InputError, match="not whole"):
        recognizer(task="classification").fit(SMILES, QED)


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "no graphs were given"),
        ("CCO", "got one str 'CCO'; put it in a list"),
        (MOTIFS[0], r"got one Data\("),
        (5, "got one int 5"),
        (None, "got one NoneType"),
        (["CCO", MOTIFS[0]], "graph 0 is 'CCO'; expected PyG Data throughout, or SMILES"),
        ([MOTIFS[0], 3], "graph 1 is 3"),
        (["CCO", "oops", "CC"], "1 of 3 SMILES cannot be used; number 2, 'oops'"),
        (MOTIFS[[]], "there are no graphs"),
    ],
)
def test_graphs_that_cannot_be_used_are_answered(graphs: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        recognizer().fit(graphs, [0.0] * len(graphs) if isinstance(graphs, list) else None)


def test_graphs_unlike_the_training_set_are_refused(
    of_motifs: SubgraphRecognizer, of_molecules: SubgraphRecognizer
) -> None:
    wide = replace(MOTIFS, x=torch.ones(MOTIFS.num_nodes, 3))
    with pytest.raises(InputError, match=r"have 3 node features \(floats\).*trained on 1 \(floats"):
        of_motifs.predict(wide)
    with pytest.raises(InputError, match="trained on graphs that are not molecules"):
        of_motifs.predict(SMILES)
    with pytest.raises(InputError, match=r"1 node features \(floats\).*trained on 7 \(codes\)"):
        of_molecules.predict(MOTIFS)
    with pytest.raises(InputError, match=r"trained on 7 \(codes\)"):
        of_molecules.predict(from_smiles(SMILES, features="element"))


def test_codes_that_are_no_atoms_are_refused_by_a_model_of_molecules() -> None:
    of_atoms = recognizer(features="element").fit(SMILES, QED)
    coded = replace(MOTIFS, x=torch.zeros(MOTIFS.num_nodes, 1).long(), cardinalities=(4,))
    with pytest.raises(InputError, match="trained on molecules; give SMILES"):
        of_atoms.predict(coded)
    of_codes = recognizer().fit(coded)
    with pytest.raises(InputError, match="the graphs are molecules"):
        of_codes.predict(from_smiles(SMILES, features="element"))


def test_validation_graphs_must_be_like_the_training_graphs() -> None:
    val = generate_ba2motifs(10, seed=1)
    with pytest.raises(InputError, match="have 3 node features"):
        recognizer().fit(MOTIFS, val=replace(val, x=torch.ones(val.num_nodes, 3)))
    with pytest.raises(InputError, match=r"classes beyond \[0, 1\]"):
        recognizer().fit(MOTIFS, val=(val, [2] * 10))
    with pytest.raises(InputError, match="have 2 labels each; this model predicts 1"):
        recognizer().fit(SMILES, QED, val=(SMILES, np.stack([QED, QED], 1)))
    with pytest.raises(InputError, match="carry no labels"):
        recognizer().fit(SMILES, QED, val=SMILES)


def test_evaluation_needs_labels_like_those_of_training(of_molecules: SubgraphRecognizer) -> None:
    with pytest.raises(InputError, match="have 2 labels each; this model predicts 1"):
        of_molecules.evaluate(SMILES, np.stack([QED, QED], 1))
    with pytest.raises(InputError, match="no labels"):
        of_molecules.evaluate(SMILES)


def test_values_have_no_class_probabilities(of_molecules: SubgraphRecognizer) -> None:
    with pytest.raises(InputError, match="use predict"):
        of_molecules.predict_proba(SMILES)


def test_the_repr_can_be_typed_in() -> None:
    model = SubgraphRecognizer("gin", "gib", preset="paper", epochs=3)
    assert eval(repr(model)).get_params() == model.get_params()


def test_no_warning_is_hidden_in_training() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recognizer().fit(SMILES[:12], QED[:12]).recognize(SMILES[:2])


def test_molecules_are_their_graphs() -> None:
    read = from_smiles(SMILES, QED)
    assert isinstance(read, Molecules)
    assert np.array_equal(
        recognizer().fit(read).predict(read), recognizer().fit(SMILES, QED).predict(SMILES)
    )


def test_the_default_encoder_reads_bonds_where_there_are_any() -> None:
    molecules = recognizer().fit(SMILES, QED)
    assert molecules.card_.encoder == "gine-skip"
    assert molecules.network_.readout == "norm"
    assert recognizer().fit(MOTIFS).card_.encoder == "gin"
    assert recognizer(preset="paper").fit(SMILES, QED).card_.encoder == "gcn"
    assert "gin" not in repr(SubgraphRecognizer())


def test_no_value_is_predicted_far_beyond_those_of_training(tmp_path: Path) -> None:
    model = recognizer().fit(SMILES, QED, val=(SMILES, QED))
    (low, high), (least, most) = model.card_.bounds[0], (min(QED), max(QED))
    assert low == pytest.approx(least - 0.1 * (most - least), abs=1e-2)
    assert high == pytest.approx(most + 0.1 * (most - least), abs=1e-2)
    with torch.no_grad():
        model.network_.target_mean += 100.0
    assert model.predict(SMILES[:2]).tolist() == pytest.approx([high, high], abs=1e-5)
    model.save(tmp_path)
    assert SubgraphRecognizer.load(tmp_path).predict(SMILES[:1])[0] == pytest.approx(high, abs=1e-5)


def test_how_many_epochs_are_planned_is_how_many_there_are() -> None:
    model = SubgraphRecognizer(hidden=4, steps=7, batch_size=10)
    told: list[Any] = []
    model.fit(SMILES, QED, val=(SMILES, QED), on_epoch=told.append)
    assert len(told) == model.planned_epochs(30)
