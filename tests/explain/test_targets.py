"""The class, label or value to explain can be chosen, and wrong names are refused."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GraphConv, global_add_pool

from vgib.data.packed import PackedGraphs
from vgib.errors import InputError, UnknownNameError
from vgib.explain.frozen import Frozen
from vgib.explain.many import explain_many
from vgib.explain.methods.occlusion import Occlusion

ModelOf = Callable[[str], nn.Module]


class Counts(nn.Module):
    """Output k counts the nodes of type k: node j matters to output k where x[j, k] = 1."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.conv, self.how = GraphConv(3, 3), how

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        heard = 0 * self.conv(x, edge_index)
        out = 4 * global_add_pool(x + heard, batch) - 2
        if self.how == "probs":
            return out.sigmoid()
        return out[:, :1] if self.how == "one" else out


@pytest.fixture
def three() -> list[Data]:
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    kinds = [[0, 1, 2], [2, 0, 0], [1, 1, 0], [0, 1, 1]]
    return [Data(x=torch.eye(3)[kind], edge_index=edges) for kind in kinds]


@pytest.mark.parametrize("target", [0, 1, 2])
@pytest.mark.parametrize(
    ("task", "how"),
    [
        ("classification", "raw"),
        ("multilabel", "raw"),
        ("multilabel", "probs"),
        ("regression", "raw"),
    ],
)
def test_the_nodes_of_the_target_are_found(
    task: str, how: str, target: int, three: list[Data]
) -> None:
    returns = "probs" if how == "probs" else "raw"
    found = explain_many(Counts(how), three, "occlusion", task=task, returns=returns, target=target)
    for one, item in zip(found, three, strict=True):
        has = item.x[:, target] > 0
        if has.any() and not has.all():
            assert one.node_mask[has].min() > one.node_mask[~has].max()
        assert one.prediction.shape == (1, 3)
        if task == "classification":
            assert one.target.tolist() == [target]
        elif task == "multilabel":
            assert one.target.tolist() == [[int(has.any())]]
        else:
            assert one.target.item() == one.prediction[0, target]


def test_without_a_target_all_labels_or_values_count_together(three: list[Data]) -> None:
    labels = explain_many(Counts("raw"), three, "occlusion", task="multilabel")
    assert labels[0].target.tolist() == [[1, 1, 1]]
    assert labels[2].target.tolist() == [[1, 1, 0]]
    fitted = explain_many(Counts("raw"), three, task="multilabel", steps=2)
    assert torch.isfinite(fitted[0].node_mask).all()


@pytest.mark.parametrize("target", [0, 1])
def test_a_single_logit_speaks_for_both_classes(target: int, three: list[Data]) -> None:
    found = explain_many(Counts("one"), three, "occlusion", task="binary", target=target)
    is_first = three[0].x[:, 0] > 0
    mask = found[0].node_mask.squeeze(1)
    assert (mask[is_first] > mask[~is_first]).all() == (target == 1)
    fitted = explain_many(Counts("one"), three, task="binary", target=target, steps=2)
    assert fitted[0].target.tolist() == [target]


def test_mistakes_are_refused_with_a_suggestion(three: list[Data]) -> None:
    model = Counts("raw")
    with pytest.raises(UnknownNameError, match="did you mean 'classification'"):
        explain_many(model, three, "occlusion", task="clasification")
    with pytest.raises(UnknownNameError, match="did you mean 'log_probs'"):
        explain_many(model, three, "occlusion", returns="log_prob")
    for target in (3, -1, "second"):
        with pytest.raises(InputError, match=f"target={target!r}, but there are 3 to choose from"):
            explain_many(model, three, "occlusion", target=target)
    for several in ([0, 1], torch.tensor([0, 1])):
        with pytest.raises(InputError, match="target is one number for all graphs; got"):
            explain_many(model, three, "occlusion", target=several)
    with pytest.raises(InputError, match="Say task='binary' for one logit"):
        explain_many(Counts("one"), three, "occlusion", task="classification")
    with pytest.raises(InputError, match=r"returns='probs', but the outputs lie between .*'raw'"):
        explain_many(model, three, "occlusion", returns="probs")
    with pytest.raises(InputError, match="batch_size must be at least 1; got 0"):
        explain_many(model, three, "occlusion", batch_size=0)
    with pytest.raises(UnknownNameError, match="'chunkk'; did you mean 'chunk'"):
        explain_many(model, three, "occlusion", chunkk=3)
    with pytest.raises(UnknownNameError, match="did you mean 'seed'"):
        Occlusion(sed=3)
    for wrong in ({"beta": -1}, {"beta": "low"}, {"batch_size": 0}, {"steps": 0}, {"seed": "x"}):
        for method in ("vgib", "vgib-paper", "gib", "fidelity-gate"):
            with pytest.raises(InputError, match="must be"):
                explain_many(model, three, method, **wrong)


def test_a_model_that_gives_the_number_of_a_class_is_refused(three: list[Data]) -> None:
    class Says(Counts):
        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
            return super().forward(x, edge_index, batch).argmax(1, keepdim=True)

    with pytest.raises(InputError, match="must give one float tensor"):
        explain_many(Says("raw"), three, "occlusion")


def test_as_many_outputs_as_there_are_can_be_asked_about_and_no_more(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    model, batch = model_of("gcn"), graphs.batch()
    classes = Frozen(model).run(batch).output.shape[1]
    for target in range(classes):
        frozen = Frozen(model, target=target)
        frozen.run(batch)
        assert frozen.task == "binary"
    for target in (-1, classes):
        with pytest.raises(InputError, match=f"there are {classes} to choose from"):
            Frozen(model, target=target).run(batch)
    binary = Frozen(model_of("value"), task="binary", target=1)
    binary.run(batch)
    with pytest.raises(InputError, match="there are 2 to choose from"):
        Frozen(model_of("value"), task="binary", target=2).run(batch)
