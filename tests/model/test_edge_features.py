"""Recognizers that read bonds, or the edge features of any graph."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GATv2Conv

from vgib.errors import InputError
from vgib.explain.many import explain_many
from vgib.model.recognizer import SubgraphRecognizer

QUICK = {"epochs": 60, "hidden": 16, "seed": 0}


def colored(count: int, kind: str = "floats") -> list[Data]:
    """Paths whose class is whether an edge has the color 1; all nodes are alike."""
    generator = torch.Generator().manual_seed(0)
    graphs = []
    for number in range(count):
        color = torch.zeros(5, dtype=torch.int64)
        if number % 2:
            color[torch.randint(0, 5, (1,), generator=generator)] = 1
        ends = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
        both = color.repeat(2)
        graphs.append(
            Data(
                x=torch.ones(6, 1),
                edge_index=torch.cat([ends, ends.flip(0)], 1),
                edge_attr=both if kind == "codes" else nn.functional.one_hot(both, 2).float(),
                y=torch.tensor([number % 2]),
            )
        )
    return graphs


@pytest.mark.parametrize("encoder", ["gine", "gine-skip", "gat-edge"])
@pytest.mark.parametrize("kind", ["floats", "codes"])
def test_what_only_edges_tell_is_learned_saved_and_explained(
    encoder: str, kind: str, tmp_path: Path
) -> None:
    data = colored(60, kind)
    model = SubgraphRecognizer(encoder, "none", lr=0.01, **QUICK).fit(data)
    if encoder == "gine":  # an attention over nodes that are all alike has nothing to tell
        assert model.evaluate(data)["accuracy"]["value"] > 0.95
    assert (model.card_.edge_features, model.card_.edge_channels) == (kind, 2)
    again = SubgraphRecognizer.load(model.save(tmp_path / "model"))
    assert (again.predict(data) == model.predict(data)).all()
    found = explain_many(model.net_, data[:4], "occlusion")
    said = torch.cat([one.prediction for one in found]).argmax(1)
    assert said.tolist() == model.predict(data[:4]).tolist()
    with pytest.raises(InputError, match="reads edge features, but the graphs carry none"):
        model.predict([Data(x=one.x, edge_index=one.edge_index) for one in data])


def test_bonds_have_a_vocabulary_of_their_own(tmp_path: Path) -> None:
    smiles = ["CC", "C=C", "CCC", "CC=C", "C#C", "c1ccccc1"] * 3
    model = SubgraphRecognizer("gine", "vgib", epochs=2).fit(smiles, [0, 1, 0, 1, 1, 0] * 3)
    assert (model.card_.edge_features, model.card_.edge_channels) == ("bond", 5)
    again = SubgraphRecognizer.load(model.save(tmp_path / "model"))
    assert (again.scores(smiles) == model.scores(smiles)).all()
    plain = SubgraphRecognizer("gin", "vgib", epochs=1).fit(smiles, [0, 1, 0, 1, 1, 0] * 3)
    assert (plain.card_.edge_features, plain.card_.edge_channels) == (None, 0)


def test_an_encoder_of_your_own_is_handed_edge_features_where_it_names_them() -> None:
    class Own(nn.Module):
        out_channels = 8

        def __init__(self) -> None:
            super().__init__()
            self.conv = GATv2Conv(1, 8, edge_dim=2)

        def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
            return self.conv(x, edge_index, edge_attr).relu()  # type: ignore[no-any-return]

    model = SubgraphRecognizer(Own(), "vgib-paper", epochs=2).fit(colored(20))
    assert len(model.scores(colored(20))) == 120
