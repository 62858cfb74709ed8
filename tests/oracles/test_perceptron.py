"""The network in numpy against the same network in torch."""

import numpy as np
import pytest
import torch

from vgib.chem.fingerprint import DESCRIPTORS, fingerprints
from vgib.data.molecules import load_drugs
from vgib.oracles.fitting import Fit, Network, export
from vgib.oracles.perceptron import FIELDS, WIDEST, Perceptron, known_substructures, standardize

PRINTS = fingerprints(load_drugs()["smiles"].tolist()[:50])
COLUMNS = np.unique(PRINTS.ids)[::2]


@pytest.fixture
def network() -> Perceptron:
    net = Network(len(COLUMNS), len(DESCRIPTORS), 2, Fit(hidden=16, inner=8))
    scale = PRINTS.descriptors.std(0) + 1
    return export(net, COLUMNS, PRINTS.descriptors.mean(0), scale)


def test_it_gives_what_torch_gives(network: Perceptron) -> None:
    weight = {
        name: torch.from_numpy(array.astype(np.float64)) for name, array in network.arrays().items()
    }
    dense = torch.from_numpy(np.log2(1.0 + PRINTS.dense(COLUMNS)))
    described = (torch.from_numpy(PRINTS.descriptors).double() - weight["center"]) / weight["scale"]
    first = dense @ weight["embedding"] + weight["first_bias"]
    first = first + described.clamp(-WIDEST, WIDEST) @ weight["descriptor_weight"]
    second = torch.relu(first) @ weight["second_weight"] + weight["second_bias"]
    expected = torch.relu(second) @ weight["out_weight"] + weight["out_bias"]
    assert network(PRINTS) == pytest.approx(expected.numpy(), abs=1e-6)


def test_it_gives_what_the_trained_module_gives() -> None:
    net = Network(len(COLUMNS), len(DESCRIPTORS), 1, Fit(hidden=16, inner=8)).eval()
    with torch.no_grad():  # what is stored with half precision
        net.embedding.weight.copy_(net.embedding.weight.half().float())
    center, scale = PRINTS.descriptors.mean(0), PRINTS.descriptors.std(0) + 1
    rows = known_substructures(PRINTS, COLUMNS)
    out = net.double()(
        torch.from_numpy(rows.indices.astype(np.int64)),
        torch.from_numpy(rows.indptr[:-1].astype(np.int64)),
        torch.from_numpy(rows.data),
        torch.from_numpy(standardize(PRINTS.descriptors, center, scale)),
    )
    expected = out.detach().numpy()
    assert export(net, COLUMNS, center, scale)(PRINTS) == pytest.approx(expected, abs=1e-6)


def test_unknown_substructures_are_left_out() -> None:
    table = known_substructures(PRINTS, COLUMNS).toarray()
    assert table == pytest.approx(np.log2(1.0 + PRINTS.dense(COLUMNS)))


def test_its_arrays_make_it_again(network: Perceptron) -> None:
    again = Perceptron(**{name: network.arrays()[name] for name in FIELDS})  # type: ignore[arg-type]
    assert (again(PRINTS) == network(PRINTS)).all()
