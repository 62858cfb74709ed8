"""The network against its formula, and as it is stored."""

import numpy as np
import pytest
import torch

from vgib.chem.fingerprint import fingerprints
from vgib.data.molecules import load_drugs
from vgib.oracles.perceptron import WIDEST, Perceptron, known_substructures

PRINTS = fingerprints(load_drugs()["smiles"].tolist()[:50])
COLUMNS = np.unique(PRINTS.ids)[::2]


def trained(outputs: int) -> Perceptron:
    center, scale = PRINTS.descriptors.mean(0), PRINTS.descriptors.std(0) + 1
    return Perceptron(COLUMNS, center, scale, hidden=16, inner=8, outputs=outputs, dropout=0.2)


@pytest.fixture
def network() -> Perceptron:
    return Perceptron.stored(trained(2).arrays())


def test_it_computes_its_formula(network: Perceptron) -> None:
    weight = {
        name: torch.from_numpy(array.astype(np.float64)) for name, array in network.arrays().items()
    }
    dense = torch.from_numpy(np.log2(1.0 + PRINTS.dense(COLUMNS)))
    described = (torch.from_numpy(PRINTS.descriptors).double() - weight["center"]) / weight["scale"]
    first = dense @ weight["embedding"] + weight["first_bias"]
    first = first + described.clamp(-WIDEST, WIDEST) @ weight["descriptor_weight"]
    second = torch.relu(first) @ weight["second_weight"] + weight["second_bias"]
    expected = torch.relu(second) @ weight["out_weight"] + weight["out_bias"]
    assert network.judge(PRINTS) == pytest.approx(expected.numpy(), abs=1e-9)


def test_storing_it_costs_the_half_precision_of_the_substructures_alone() -> None:
    net = trained(1).eval()
    with torch.no_grad():
        net.embedding.weight.copy_(net.embedding.weight.half().float())
    stored = Perceptron.stored(net.arrays())
    assert stored.judge(PRINTS) == pytest.approx(net.double().judge(PRINTS), abs=1e-9)


def test_unknown_substructures_are_left_out() -> None:
    table = known_substructures(PRINTS, COLUMNS).toarray()
    assert table == pytest.approx(np.log2(1.0 + PRINTS.dense(COLUMNS)))


def test_its_arrays_make_it_again(network: Perceptron) -> None:
    again = Perceptron.stored(network.arrays())
    assert (again.judge(PRINTS) == network.judge(PRINTS)).all()
    assert {name: array.dtype.name for name, array in network.arrays().items()} == {
        "columns": "uint32",
        "embedding": "float16",
        **dict.fromkeys(("center", "scale", "descriptor_weight", "first_bias"), "float32"),
        **dict.fromkeys(("second_weight", "second_bias", "out_weight", "out_bias"), "float32"),
    }
