"""Datasets with known answers: alternatives, graphs without an explanation, and splits."""

import gzip
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vgib.data import entries
from vgib.data.entries import Statistics, entry
from vgib.data.known import KNOWN, _marked_nodes, load_known
from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import UnknownNameError

SMILES = ("c1ccccc1", "CCO", "c1ccccc1CCc1ccccc1", "CCCC")
RINGS = [[[0, 1, 2, 3, 4, 5]], [], [[0, 1, 2, 3, 4, 5], [8, 9, 10, 11, 12, 13]], []]


def attribution_mirror(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [
        {
            "id": str(n),
            "smiles": SMILES[n % 4],
            "label": int(n % 2 == 0),
            "explanations": RINGS[n % 4],
        }
        | {"split": "test" if n >= 30 else "train"}
        for n in range(40)
    ]
    body = gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode())
    made = replace(entry("attribution/benzene"), statistics=Statistics(rows=40))
    monkeypatch.setitem(entries.ENTRIES, made.name, made)
    (folder / made.file).parent.mkdir(parents=True)
    (folder / made.file).write_bytes(body)
    (folder / "SHA256SUMS").write_text(f"{hashlib.sha256(body).hexdigest()}  {made.file}\n")
    return folder


def test_molecules_keep_every_alternative_and_their_official_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = attribution_mirror(tmp_path / "mirror", monkeypatch)
    found = load_known("attribution/benzene", seed=1, mirror=mirror, cache=tmp_path)
    assert found.split.test.tolist() == [*range(30, 40)]
    assert (len(found.split.train), len(found.split.val)) == (27, 3)
    graphs, answers = found.part(np.array([1, 2]))
    assert answers == [(), ((0, 1, 2, 3, 4, 5), (8, 9, 10, 11, 12, 13))]
    assert graphs.node_truth is not None and int(graphs.node_truth.sum()) == 12


def test_the_motif_is_the_only_explanation_and_the_seed_makes_the_graphs() -> None:
    one, other = (load_known("BA-2Motifs", seed=seed) for seed in (1, 2))
    assert set(one.alternatives) == {((20, 21, 22, 23, 24),)}
    assert [len(part) for part in (one.split.train, one.split.val, one.split.test)] == [
        800,
        100,
        100,
    ]
    assert one.graphs.fingerprint() != other.graphs.fingerprint()


def test_of_mutagenicity_nonmutagens_have_no_part_and_unmarked_mutagens_are_unknown() -> None:
    graphs = generate_ba2motifs(4)
    assert graphs.node_truth is not None
    truth = graphs.node_truth.clone()
    truth[:25] = False
    marked = replace(graphs, node_truth=truth)
    assert _marked_nodes("Mutagenicity", marked) == (None, (), ((20, 21, 22, 23, 24),), ())


def test_an_unknown_set_is_answered_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'attribution/benzene'"):
        load_known("attribution/benzen")
    assert all(entry(name) for name in KNOWN)
    with pytest.raises(UnknownNameError, match="did you mean 'attribution/fluoride_carbonyl'"):
        entry("attribution/alkane_carbonyl")
