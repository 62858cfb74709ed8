"""OpenGraphXAI: molecules whose class follows a known rule, with the nodes that decide it.

Fontanesi et al., "OpenGraphXAI", arXiv:2505.12437. A file holds one graph in each line: its class
``y``, the label of each node ``x``, its edges and the nodes of its explanation, ``truth``.
"""

import json
from pathlib import Path

import numpy as np
import torch

from vgib.data.packed import PackedGraphs
from vgib.data.splits import Split
from vgib.data.unpacking import unpacked_text
from vgib.errors import FileFormatError


def read_opengraphxai(path: Path) -> PackedGraphs:
    """The graphs of a ``.jsonl`` file, compressed or not, in the file's order.

    Node labels become categorical features. An edge belongs to the explanation when both of its
    ends do.

    Raises:
        FileFormatError: the file is damaged or holds something else.
    """
    try:
        rows = [json.loads(line) for line in unpacked_text(path).splitlines()]
        ptr = np.cumsum([0, *(len(row["x"]) for row in rows)])
        x = np.concatenate([row["x"] for row in rows]).astype(np.int64)
        edges = np.concatenate(
            [
                np.asarray(row["edges"], dtype=np.int64).reshape(-1, 2) + first
                for row, first in zip(rows, ptr, strict=False)
            ]
        ).T
        truth = np.zeros(len(x), dtype=bool)
        for row, first in zip(rows, ptr, strict=False):
            truth[np.asarray(row["truth"] or [], dtype=np.int64) + first] = True
        y = torch.tensor([row["y"] for row in rows])
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise FileFormatError(f"{path} holds no graphs of OpenGraphXAI ({error!r})") from error
    both = np.concatenate([edges, edges[::-1]], axis=1)
    return PackedGraphs.from_edges(
        torch.from_numpy(x)[:, None],
        torch.from_numpy(both),
        torch.from_numpy(ptr),
        y=y,
        node_truth=torch.from_numpy(truth),
        edge_truth=torch.from_numpy(truth[both].all(axis=0)),
        cardinalities=(int(x.max()) + 1,),
    )


def read_split(path: Path, graphs: int) -> Split:
    """The first division of a ``_splits.json`` file, a list of ``{train, val, test}``.

    Raises:
        FileFormatError: the file is damaged, or does not name each of so many graphs once.
    """
    try:
        told = json.loads(path.read_bytes())[0]
        parts = [np.sort(np.asarray(told[part], np.int64)) for part in ("train", "val", "test")]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise FileFormatError(f"{path} holds no split ({error!r})") from error
    if not np.array_equal(np.sort(np.concatenate(parts)), np.arange(graphs)):
        raise FileFormatError(f"{path} does not divide the {graphs} graphs of its dataset")
    return Split(*parts)
