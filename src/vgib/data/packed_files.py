"""Packed graphs on the disk: every tensor by its name, and names of graphs as bytes."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vgib.data.files import read_safetensors, write_safetensors
from vgib.data.from_pyg import FURTHER
from vgib.data.ranges import pointers
from vgib.errors import FileFormatError

FORMAT = "vgib-packed-graphs"
FORMAT_VERSION = 1


def write_packed(path: Path, fields: dict[str, Any]) -> None:
    """Writes the fields of :class:`vgib.data.packed.PackedGraphs` into one safetensors file."""
    tensors = {k: v.contiguous() for k, v in fields.items() if isinstance(v, Tensor)}
    for group in FURTHER:
        tensors |= {f"{group}.{k}": v.contiguous() for k, v in fields[group].items()}
    if fields["ids"] is not None:
        encoded = [name.encode() for name in fields["ids"]]
        text = bytearray(b"".join(encoded) or b" ")
        tensors["ids.bytes"] = torch.frombuffer(text, dtype=torch.uint8)
        tensors["ids.ptr"] = pointers(torch.tensor([len(name) for name in encoded]))
    codes = fields["cardinalities"]
    about = {"format": FORMAT, "version": FORMAT_VERSION, "cardinalities": codes}
    write_safetensors(path, tensors, {"about": json.dumps(about)})


def read_packed(path: Path) -> dict[str, Any]:
    """The fields that :func:`write_packed` wrote.

    Raises:
        FileFormatError: the file is none of these, or of a newer version.
    """
    tensors, about = read_safetensors(path, FORMAT, "packed graphs")
    if about["version"] > FORMAT_VERSION:
        raise FileFormatError(
            f"{str(path)!r} was written by a newer version of vgib (format {about['version']}, "
            f"this one reads up to {FORMAT_VERSION}); upgrade vgib"
        )
    ids = None
    if "ids.ptr" in tensors:
        text = tensors.pop("ids.bytes").numpy().tobytes()
        ends = tensors.pop("ids.ptr").tolist()
        ids = tuple(text[a:b].decode() for a, b in pairwise(ends))
    codes = about["cardinalities"]
    fields: dict[str, Any] = {group: {} for group in FURTHER}
    for name in [name for name in tensors if "." in name]:
        group, key = name.split(".", 1)
        fields[group][key] = tensors.pop(name)
    return fields | tensors | {"ids": ids, "cardinalities": None if codes is None else tuple(codes)}
