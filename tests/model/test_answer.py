"""What a model says of some graphs, computed once: one contract for one member and for several."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.model.passes import Passes

from vgib.chem.blocks import blocks_of
from vgib.chem.fragment import fragment
from vgib.data.capped import capped_parts
from vgib.data.molecules import from_smiles, load_drugs
from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import InputError
from vgib.model.answer import Answer
from vgib.model.parts import contents_of
from vgib.model.recognizer import SubgraphRecognizer
from vgib.model.subgraphs import find_subgraphs
from vgib.select.policy import ANY, RULES, Selection
from vgib.select.random import random_ring_intact

DRUGS = load_drugs()["smiles"].tolist()
SOME = DRUGS[:12]
HALF = Selection(0.5, by="prediction")


def trained(members: int, kind: str) -> SubgraphRecognizer:
    """A small model of so many members, of molecules or of plain graphs."""
    graphs: Any = generate_ba2motifs(24) if kind == "motifs" else SOME
    y = {
        "motifs": None,
        "values": np.linspace(0, 1, len(SOME)),
        "classes": np.arange(len(SOME)) % 2 + 3,
        "several": np.random.default_rng(0).random((len(SOME), 2)),
    }[kind]
    models = [
        SubgraphRecognizer("gin", hidden=4, depth=2, epochs=2, seed=seed).fit(graphs, y)
        for seed in range(members)
    ]
    return SubgraphRecognizer.together(models)


def asked_about(kind: str) -> Any:
    return generate_ba2motifs(6, seed=1) if kind == "motifs" else SOME


@pytest.fixture(scope="module", params=["motifs", "values", "classes", "several"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=[1, 3], ids=["one", "three"])
def model(request: pytest.FixtureRequest, kind: str) -> SubgraphRecognizer:
    return trained(request.param, kind)


@pytest.fixture(scope="module")
def answer(model: SubgraphRecognizer, kind: str) -> Answer:
    return model.answer(asked_about(kind))


# ---- the contract --------------------------------------------------------------------------------


def test_an_answer_has_a_row_for_each_member(model: SubgraphRecognizer, answer: Answer) -> None:
    members, graphs = len(model.members()), answer.graphs
    assert answer.members == members == len(answer.outputs) == len(answer.scores)
    assert answer.scores.shape == (members, graphs.num_nodes)
    assert answer.values.shape[:2] == (members, len(graphs))
    assert ((answer.node_scores >= 0) & (answer.node_scores <= 1)).all()


def test_a_member_says_in_company_what_it_says_alone(
    model: SubgraphRecognizer, answer: Answer
) -> None:
    for place, member in enumerate(model.members()):
        alone, inside = member.answer(answer.graphs), answer.member(place)
        assert np.array_equal(alone.predictions, inside.predictions)
        assert np.array_equal(alone.node_scores, inside.node_scores)
        same = replace(alone, tolerance=inside.tolerance)  # each member's card has its own
        assert same.chosen(ANY) == inside.chosen(ANY)
        assert alone.members == inside.members == 1


def test_mean_and_spread_are_over_the_members(answer: Answer) -> None:
    assert np.allclose(answer.mean, answer.values.mean(0))
    assert np.allclose(answer.spread, answer.values.std(0))
    assert np.allclose(answer.node_scores, answer.scores.numpy().mean(0))
    if answer.members == 1:
        assert not answer.spread.any()


@pytest.mark.parametrize("members", [1, 2])
def test_values_are_predicted_by_the_mean_of_all_members(members: int) -> None:
    model = trained(members, "values")
    answer = model.answer(SOME)
    each = [answer.member(place).predictions for place in range(members)]
    assert {found.shape for found in each} == {(len(SOME),)}
    np.testing.assert_allclose(answer.predictions, np.mean(each, 0), rtol=1e-5)
    assert members == 1 or not np.allclose(each[0], each[1], rtol=1e-4)


def test_classes_have_probabilities_that_agree_with_the_prediction(answer: Answer) -> None:
    if answer.classes is None:
        assert answer.probability is None
        assert np.allclose(answer.predictions, answer.mean.squeeze())
        return
    assert np.allclose(answer.mean.sum(1), 1)
    assert np.allclose(answer.output.softmax(1).numpy(), answer.mean, atol=1e-6)
    column = answer.mean.argmax(1)
    assert answer.predictions.tolist() == [answer.classes[place] for place in column]
    assert answer.probability is not None
    assert np.array_equal(answer.probability, answer.mean.max(1))


def test_every_verb_of_the_model_reads_the_answer(
    model: SubgraphRecognizer, answer: Answer
) -> None:
    graphs = answer.graphs
    assert np.array_equal(model.predict(graphs), answer.predictions)
    assert np.array_equal(model.scores(graphs), answer.node_scores)
    assert model.subgraphs(graphs, 2, keep_ratio=0.4) == answer.choose(Selection(0.4, n=2))
    assert model.recognize(graphs) == answer.recognitions(ANY)
    if answer.classes is not None:
        assert np.array_equal(model.predict_proba(graphs), answer.mean)


@pytest.mark.parametrize("rule", RULES)
def test_choices_by_scores_are_those_of_the_mean_scores(answer: Answer, rule: str) -> None:
    if rule == "ring_intact" and answer.parts.features is None:
        return
    found = answer.choose(Selection.of((0.3, 0.6), rule, n=2))
    expected = find_subgraphs(
        answer.graphs, answer.node_scores, 2, keep_ratio=(0.3, 0.6), rule=rule
    )
    assert found == expected


def test_agreement_lies_between_0_and_1_and_is_1_for_one(answer: Answer) -> None:
    for selection in (ANY, Selection(0.3), Selection(0.4, "nodes")):
        found = answer.agreement(selection)
        assert ((found >= 0) & (found <= 1)).all()
        assert answer.members > 1 or (found == 1).all()
        equal = Answer(
            answer.graphs,
            answer.outputs[[0, 0]],
            answer.scores[[0, 0]],
            answer.classes,
            answer.parts,
            (0, 0),
        )
        assert (equal.agreement(selection) == 1).all()


def test_a_saved_model_comes_back_with_its_members(
    model: SubgraphRecognizer, answer: Answer, tmp_path: Any
) -> None:
    folder = model.save(tmp_path / "mine", summary="Mine.")
    again = SubgraphRecognizer.load(folder)
    assert again.card_.summary == "Mine." and len(again.members()) == answer.members
    assert torch.equal(again.answer(answer.graphs).outputs, answer.outputs)
    alone = SubgraphRecognizer.load(folder, single=True)
    assert torch.equal(alone.answer(answer.graphs).outputs, answer.outputs[:1])


def test_scores_may_come_from_elsewhere(answer: Answer) -> None:
    scores = np.linspace(0, 1, answer.graphs.num_nodes, dtype=np.float32)
    other = answer.with_scores(scores)
    assert np.array_equal(other.node_scores, scores)
    assert np.array_equal(other.predictions, answer.predictions)
    assert other.choose(Selection(0.4)) == find_subgraphs(answer.graphs, scores, keep_ratio=0.4)
    for place in range(answer.members):
        alone = other.member(place)
        assert np.array_equal(alone.node_scores, scores)
        assert np.array_equal(alone.predictions, answer.member(place).predictions)


def test_a_part_is_predicted_like_a_graph_of_its_own(
    model: SubgraphRecognizer, answer: Answer
) -> None:
    size = int(answer.graphs.sizes[0])
    masks = np.arange(size)[None] < np.array([[1], [size]])
    found = answer.predict_parts(0, masks)
    assert found.shape == (answer.members, 2, answer.values.shape[2])
    assert np.allclose(found[:, 1], answer.values[:, 0], atol=1e-6)


def test_an_ensemble_needs_a_model() -> None:
    with pytest.raises(InputError, match="at least one model"):
        SubgraphRecognizer.together([])


# ---- no forward pass twice -----------------------------------------------------------------------


SMILES = "CC(C)Cc1ccc(C(C)C(=O)Nc2ncccc2Cl)cc1"


def test_the_default_answer_makes_no_forward_pass_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SubgraphRecognizer.load("qed")
    passes = Passes(monkeypatch)
    answer = model.answer([SMILES])
    assert passes.calls == 3  # the whole molecule, by each member
    selection = model.selection(0.5)
    assert selection.by == "prediction"
    answer.choose(selection)
    answer.agreement(selection)
    assert passes.calls <= 9  # parts for all members, and what one of them alone wants to know
    assert passes.are_distinct()
    asked = len(passes.seen)
    answer.choose(selection)
    answer.choose(Selection(0.5, by="prediction", n=3))
    answer.agreement(selection)
    assert len(passes.seen) == asked


def test_no_part_is_asked_about_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = SubgraphRecognizer.load("qed").answer([SMILES])
    asked: list[tuple[int, bytes]] = []
    plain = answer.parts._predict

    def counted(places: Any, members: Sequence[int]) -> None:
        asked.extend((place, member) for place in places.tolist() for member in members)
        plain(places, members)

    monkeypatch.setattr(answer.parts, "_predict", counted)
    for slack in (0, 1):
        answer.choose(Selection((0.3, 0.5, 0.55, 0.8), by="prediction", n=2), slack=slack)
        answer.agreement(HALF)
    assert len(asked) == len(set(asked))
    masks = {
        (owner, mask.tobytes())
        for owner, mask in zip(answer.parts._owners, answer.parts._masks, strict=True)
    }
    assert len(masks) == len(answer.parts._masks)


def test_equal_parts_of_several_molecules_are_asked_about_once() -> None:
    graphs = from_smiles(["CCO", "CCN", "CCO", "OCC"]).graphs
    first, second, third, fourth = contents_of(graphs)
    assert first == third and len({first, second, fourth}) == 3


def test_equal_parts_are_asked_about_once_however_often_one_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The two ethyl groups of an ether are other parts, but the same molecule."""
    parts = SubgraphRecognizer.load("qed").answer(["CCOCC"]).parts
    left, right = np.zeros((2, 1, 5), dtype=bool)
    left[0, :2], right[0, 3:] = True, True
    passes = Passes(monkeypatch)
    found = [parts.values(parts.places(0, part), [0, 1, 2]) for part in (left, left, right)]
    assert passes.calls == 3 and passes.are_distinct()
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])


def test_parts_that_differ_in_their_bonds_are_asked_about_each() -> None:
    """The elements of an ethane and an ethene part are the same, and so are their neighbors."""
    model = SubgraphRecognizer("gine", "none", features="element", epochs=2, hidden=8, depth=2)
    model.fit(SOME, np.linspace(0, 1, len(SOME)))
    mask = np.array([[True, True, False, False]])
    alone = [model.answer([smiles]).predict_parts(0, mask) for smiles in ("CCCO", "C=CCO")]
    parts = model.answer(["CCCO", "C=CCO"]).parts
    found = parts.values(np.concatenate([parts.places(0, mask), parts.places(1, mask.copy())]), [0])
    assert abs(alone[0] - alone[1]).max() > 1e-3
    assert found[0, :, 0].numpy() == pytest.approx(np.concatenate(alone)[:, 0, 0], abs=1e-5)


def test_scores_alone_make_one_pass_for_each_member(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SubgraphRecognizer.load("qed")
    passes = Passes(monkeypatch)
    model.recognize([SMILES], rule="ring_intact")
    assert passes.calls == 3
    model.members()[0].recognize([SMILES], rule="ring_intact")
    assert passes.calls == 4


def test_plain_graphs_cannot_be_searched_by_prediction() -> None:
    with pytest.raises(InputError, match="only molecules"):
        trained(1, "motifs").subgraphs(generate_ba2motifs(2), by="prediction")


@pytest.mark.parametrize("name", ["values", "classes"])
@pytest.mark.parametrize("members", [1, 2])
def test_the_estimator_takes_it_as_a_criterion(name: str, members: int) -> None:
    model = trained(members, name)
    found = model.subgraphs(DRUGS[:3], by="prediction", keep_ratio=0.5)
    assert [len(parts) for parts in found] == [1, 1, 1]
    recognized = model.recognize(DRUGS[:3], by="prediction", keep_ratio=0.5)
    assert [r.subgraphs[0] for r in recognized] == [parts[0] for parts in found]


@pytest.mark.parametrize("features", ["rich", "element"])
def test_a_capped_part_has_the_features_of_its_capped_smiles(features: str) -> None:
    graphs = from_smiles(DRUGS, features=features).graphs
    rng = np.random.default_rng(0)
    blocks = blocks_of(graphs, graphs.x, graphs.edge_attr)
    sizes = np.maximum(1, graphs.sizes.numpy() // 2)
    mask = random_ring_intact(graphs, blocks, sizes, rng)
    parts = capped_parts(graphs, torch.from_numpy(mask), features)
    own = np.split(mask, graphs.node_ptr.numpy()[1:-1])
    different = 0
    for number, (smiles, nodes) in enumerate(zip(DRUGS, own, strict=True)):
        capped = fragment(smiles, np.flatnonzero(nodes)).capped_smiles
        expected = from_smiles([capped], features=features).graphs.x
        ours = sorted(map(tuple, parts.to_data(number).x.tolist()))
        different += ours != sorted(map(tuple, expected.tolist()))
    assert different <= 0.01 * len(DRUGS)  # phosphorus next to a cut
