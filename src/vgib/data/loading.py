"""Graphs from whatever a user names: a file, a folder, or a dataset of the catalog."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Literal, Unpack

import numpy as np

from vgib.chem.mol import scaffold
from vgib.chem.standardize import Standard
from vgib.data import catalog
from vgib.data.molecules import Molecules, from_smiles, read_molecules
from vgib.data.packed import PackedGraphs
from vgib.data.pyg_files import holds_data, read_data_files
from vgib.data.records import open_table
from vgib.data.sources import Places, check_places
from vgib.data.splits import Split, file_order_split, random_split, scaffold_split
from vgib.data.tu import read_tu
from vgib.errors import InputError, unknown_name
from vgib.limits import MAX_ATOMS, PLAIN, FileReading

SPLITS = ("random", "scaffold", "file-order")


def load_graphs(
    source: str | Path,
    *,
    target: str | Sequence[str] | None = None,
    target_kind: Literal["value", "class"] = "value",
    smiles_column: str | None = None,
    features: str = "rich",
    labeled: bool = True,
    limit: int | None = None,
    progress: bool = False,
    max_atoms: int = MAX_ATOMS,
    how: FileReading = PLAIN,
    standard: Standard | None = None,
    **places: Unpack[Places],
) -> PackedGraphs | Molecules:
    """Graphs by a path or a name.

    Args:
        source: A TU zip or folder, a folder of PyG ``Data`` files or one of them (``.pt``), a file
            of packed graphs (``.safetensors``), a table of molecules (``.csv``, ``.smi``, ``.sdf``,
            ...), or a name of the catalog.
        target: For molecules, the column of labels, or several columns of values.
        target_kind: What numbers are, ``"value"`` or ``"class"``; words are classes.
        smiles_column: For molecules, where the structures stand; found when not given.
        features: Atom vocabulary.
        labeled: Whether a table of molecules must have labels.
        limit: Only the first so many graphs, or lines of a table.
        progress: Whether downloads show a bar.
        max_atoms: The largest number of heavy atoms of a molecule.
        how: The encoding of a file, and the limits of what is read.
        standard: How molecules are made alike before they are read; as they are by default.
        **places: The ``mirror`` and the ``cache`` of the catalog.
    """
    check_places(places)
    if isinstance(target, Sequence) and not isinstance(target, str):
        target = target[0] if len(target) == 1 else list(target) or None
    path = Path(source)
    if (graphs := _graph_file(path, how)) is not None:
        return _first(graphs, limit)
    if path.is_file():
        if target is None and labeled and ".smi" not in path.suffixes:
            with open_table(path, how=how) as opened:
                columns = ", ".join(opened.columns or ())
            raise InputError(
                f"{path} is a table of molecules; name the column to learn with target. "
                f"Columns: {columns}"
            )
        return read_molecules(
            path,
            target=1 if target is None and labeled else target,
            target_kind=target_kind,
            smiles_column=smiles_column,
            features=features,
            limit=limit,
            max_atoms=max_atoms,
            standard=standard,
            **asdict(how),
        )
    if path.suffix or len(path.parts) > 2:
        raise InputError(f"there is no file {str(source)!r}")
    found = catalog.entry(str(source))
    if found.kind != "table":
        return _first(catalog.load(found.name, progress=progress, **places), limit)
    table = catalog.load_table(found.name, progress=progress, **places)[:limit]
    read = partial(from_smiles, features=features, max_atoms=max_atoms, standard=standard)
    if target is None and not labeled:
        return read(table["smiles"])
    values = [str(name) for name in table.columns if name != "smiles"]
    if target is None and len(values) == 1:
        target = values[0]
    if target is None:
        raise InputError(f"{found.name} has several columns; name one of {', '.join(values)}")
    for each in [target] if isinstance(target, str) else target:
        if each not in values:
            raise unknown_name(f"column of {found.name}", each, values)
        if table[each].to_numpy().dtype.kind not in "biuf":
            first = table[each].dropna().to_numpy()[0]
            raise InputError(f"column {each!r} of {found.name} holds no numbers: {first!r}")
    usable = table.dropna(subset=target, how="all")
    labels = usable[target].to_numpy().astype("float64")
    if target_kind == "class":
        if not np.array_equal(labels, labels.round()):
            raise InputError(f"column {target!r} of {found.name} holds values, not classes")
        labels = labels.astype("int64")
    return read(usable["smiles"], labels)


def _graph_file(path: Path, how: FileReading) -> PackedGraphs | None:
    """The graphs of a file or folder that holds graphs, not molecules; ``None`` for others."""
    if path.suffix == ".safetensors" and path.is_file():
        return PackedGraphs.load(path)
    if path.suffix == ".pt" or (path.is_dir() and holds_data(path)):
        return read_data_files(path, how=how) if path.exists() else None
    is_tu = path.is_dir() or (path.suffix == ".zip" and path.exists())
    return read_tu(path, how=how) if is_tu else None


def _first(graphs: PackedGraphs, limit: int | None) -> PackedGraphs:
    return graphs if limit is None else graphs[:limit]


def split_graphs(graphs: PackedGraphs | Molecules, how: str = "random", *, seed: int = 0) -> Split:
    """85/5/10 by a seeded shuffle, by scaffold (molecules), or in the order of the file."""
    if isinstance(graphs, Molecules):
        graphs = graphs.graphs
    if how == "random":
        return random_split(len(graphs), seed=seed)
    if how == "file-order":
        return file_order_split(len(graphs))
    if how != "scaffold":
        raise unknown_name("split", how, SPLITS)
    if graphs.ids is None or graphs.edge_attr is None:
        raise InputError("only molecules have scaffolds; use the random split")
    return scaffold_split([scaffold(smiles) for smiles in graphs.ids], seed=seed)
