"""PyG ``Data`` objects in ``.pt`` files -> :class:`PackedGraphs`, without running what is in them.

``torch.save`` writes a pickle. Torch's restricted reader (``weights_only=True``) builds tensors,
plain values and the few classes of ``SAFE`` from it, and refuses everything else.
"""

import re
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.separate import separate
from torch_geometric.data.storage import GlobalStorage

from vgib.data.packed import PackedGraphs
from vgib.errors import FileFormatError, InputError
from vgib.limits import PLAIN, FileReading

SAFE = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]

NO_GRAPHS = ("pre_filter.pt", "pre_transform.pt")
"""What PyG's datasets write beside their graphs."""

REMEDY = "save each graph with torch.save(data.to_dict(), 'NAME.pt')"


def holds_data(folder: Path) -> bool:
    """Whether there are ``.pt`` files directly in a folder."""
    return any(folder.glob("*.pt"))


def read_data_files(path: Path, *, how: FileReading = PLAIN) -> PackedGraphs:
    """The graphs of one ``.pt`` file, or of all in a folder, in the order of their numbers.

    A file holds a ``Data``, its ``to_dict()``, a list of either, or what PyG's
    ``InMemoryDataset`` saves (``processed/data.pt``). A graph that has a file of its own is called
    like it, unless it has an ``id``.

    Raises:
        FileFormatError: a file is damaged, or holds something else.
        InputError: the graphs do not go together.
    """
    files = [path]
    if path.is_dir():
        found = (file for file in path.glob("*.pt") if file.name not in NO_GRAPHS)
        files = sorted(found, key=_by_number)
    graphs = [graph for file in files for graph in _graphs(file, how)]
    try:
        return PackedGraphs.from_data(graphs)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _by_number(file: Path) -> list[tuple[int, str]]:
    """``graph_2.pt`` comes before ``graph_10.pt``."""
    parts = re.split(r"(\d+)", file.stem)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _graphs(file: Path, how: FileReading) -> list[Data]:
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            how.check_zip(str(file), archive)
    content = _load(file)
    _refuse_expanded(content, file)
    found = list(_unpacked(content, file))
    if len(found) == 1 and not isinstance(getattr(found[0], "id", None), str):
        found[0].id = file.stem
    return found


def _refuse_expanded(content: Any, file: Path) -> None:
    """Refuses tensors that would be larger in memory than what the file holds of them."""
    if isinstance(content, Data):
        content = content.to_dict()
    if isinstance(content, torch.Tensor):
        is_plain = content.layout is torch.strided and not content.is_quantized
        if not is_plain or content.nbytes > content.untyped_storage().nbytes():
            raise FileFormatError(
                f"{file} holds a tensor of {tuple(content.shape)} that is sparse, or repeats what "
                "is stored once; save it with .to_dense() and .contiguous()"
            )
    elif isinstance(content, dict | list | tuple):
        for part in content.values() if isinstance(content, dict) else content:
            _refuse_expanded(part, file)


def _load(file: Path) -> Any:
    try:
        with torch.serialization.safe_globals(SAFE), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch, about the age of a file's format
            return torch.load(file, map_location="cpu", weights_only=True)
    except UnpicklingError as error:
        refused = re.search(r"GLOBAL (\S+)", str(error))
        told = f"it holds {refused[1]}, which is not read" if refused else "it is no file of torch"
        raise FileFormatError(f"{file}: {told}; {REMEDY}") from None
    except (RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileFormatError(f"{file} is damaged or no file of torch ({why}); {REMEDY}") from None


def _unpacked(content: Any, file: Path) -> Iterator[Data]:
    match content:
        case Data():
            yield content
        case {"edge_index": _}:
            yield Data.from_dict(content)
        case (dict() as alone, None, type()):
            yield from _unpacked(alone, file)
        case (dict() as collated, dict() as slices, type()):
            yield from _separated(Data.from_dict(collated), slices)
        case list() | tuple():
            for part in content:
                yield from _unpacked(part, file)
        case _:
            raise FileFormatError(
                f"{file} holds {type(content).__name__}, not a graph with an edge_index; {REMEDY}"
            )


def _separated(collated: Data, slices: dict[str, Any]) -> Iterator[Data]:
    """The graphs of a collated set, as ``InMemoryDataset`` keeps them."""
    for number in range(len(slices["edge_index"]) - 1):
        yield separate(Data, collated, number, slices, decrement=False)
