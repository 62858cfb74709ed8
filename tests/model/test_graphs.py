"""Graphs of every accepted kind become packed graphs, or an error says why not."""

import logging

import pytest
import torch
from pandas import DataFrame
from rdkit.Chem import MolFromSmiles
from torch.utils.data import Subset
from torch_geometric.data import Batch, Data

from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.model.graphs import as_packed, as_read_by, edge_features
from vgib.model.recognizer import SubgraphRecognizer

EDGES = torch.tensor([[0, 1], [1, 0]])


def pair(**more: torch.Tensor) -> Data:
    return Data(x=torch.ones(2, 1), edge_index=EDGES, **more)


def test_lists_batches_and_subsets_are_the_same_graphs() -> None:
    data = [pair(), pair(), pair()]
    for given in (data, Batch.from_data_list(data), Subset(data, [2, 0, 1]), iter(data)):
        packed = as_packed(given, None)
        assert (len(packed), packed.num_edges) == (3, 6)
    for wrong in (pair(), 3, "CC"):
        with pytest.raises(InputError, match="put it in a list"):
            as_packed(wrong, "rich")


def test_what_an_encoder_reads_of_edges() -> None:
    floats = as_packed([pair(edge_attr=torch.rand(2, 3))], None)
    codes = as_packed([pair(edge_attr=torch.tensor([0, 4]))], None)
    bonds = as_packed(["CC"], "rich")
    assert edge_features("gine", floats) == {"edge_features": "floats", "edge_channels": 3}
    assert edge_features("gine", codes) == {"edge_features": "codes", "edge_channels": 5}
    assert edge_features("gat-edge", bonds) == {"edge_features": "bond", "edge_channels": 5}
    assert edge_features("gin", bonds) == {"edge_features": None, "edge_channels": 0}
    with pytest.raises(InputError, match="the graphs carry none; set"):
        edge_features("gine", as_packed([pair()], None))
    with pytest.raises(InputError, match="edge_attr holds 2 columns of codes"):
        edge_features("gine", as_packed([pair(edge_attr=torch.ones(2, 2).long())], None))


def test_edges_that_carry_what_was_trained_on_are_read_and_others_are_refused() -> None:
    def with_floats(width: int) -> PackedGraphs:
        return as_packed([pair(edge_attr=torch.rand(2, width))], None)

    model = SubgraphRecognizer("gine", hidden=4, depth=1, epochs=1)
    model.fit(as_packed([pair(edge_attr=torch.rand(2, 3))] * 6, None), [0, 1] * 3)
    assert as_read_by(model.card_, with_floats(3)).num_edges == 2
    for width in (2, 4):
        with pytest.raises(InputError, match=rf"have {width} features.* trained on 3"):
            as_read_by(model.card_, with_floats(width))


@pytest.mark.parametrize("columns", [(), (1,)])
def test_codes_may_be_a_row_or_a_column(columns: tuple[int, ...]) -> None:
    codes = as_packed([pair(edge_attr=torch.tensor([0, 6]).reshape(2, *columns))], None)
    assert edge_features("gine", codes) == {"edge_features": "codes", "edge_channels": 7}
    floats = as_packed([pair(edge_attr=torch.rand(2, *columns))], None)
    assert edge_features("gine", floats) == {"edge_features": "floats", "edge_channels": 1}


@pytest.mark.parametrize("strange", [None, float("nan"), 3])
def test_what_is_strange_among_smiles_is_named(strange: object) -> None:
    with pytest.raises(InputError, match=f"graph 2 is {strange!r}; expected"):
        as_packed(["CC", "CO", strange, "CN"], "rich")


def test_molecules_of_rdkit_and_whole_tables_are_answered_with_what_to_give() -> None:
    with pytest.raises(InputError, match=r"SMILES throughout, such as Chem.MolToSmiles\(mol"):
        as_packed([MolFromSmiles("CC")], "rich")
    with pytest.raises(InputError, match=r"one column of a table, such as table\['smiles'\]"):
        as_packed(DataFrame({"smiles": ["CC"]}), "rich")


def test_codes_that_no_training_graph_had_are_told(caplog: pytest.LogCaptureFixture) -> None:
    def coded(node: int, edge: int) -> PackedGraphs:
        x, attr = torch.tensor([[0, 1], [node, 0]]), torch.tensor([0, edge])
        return as_packed([Data(x=x, edge_index=EDGES, edge_attr=attr)] * 6, None)

    model = SubgraphRecognizer("gine", "none", hidden=4, depth=1, epochs=1)
    model.fit(coded(2, 1), [0, 1] * 3)
    with caplog.at_level(logging.WARNING):
        model.predict(coded(2, 1))
        assert not caplog.records
        known, new = model.predict_proba(coded(2, 1)), model.predict_proba(coded(7, 4))
    assert (known == new).all()
    assert "nodes have the code 7 in column 0; training graphs had none above 2" in caplog.text
    assert "edges have the code 4 in column 0; training graphs had none above 1" in caplog.text
    with pytest.raises(InputError, match="edge_attr of integers holds codes from 0"):
        model.predict(coded(0, -1))
