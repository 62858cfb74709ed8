"""What reads on a cluster starts quickly."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from vgib.stream.chunks import SourceReading
from vgib.stream.parts import PartStore, part_name
from vgib.stream.ray_reading import Reader
from vgib.stream.schema import Recognized


def test_a_process_that_reads_does_not_import_torch() -> None:
    told = "import sys, vgib.stream.ray_reading; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], check=True, capture_output=True, text=True)
    assert not {"torch", "torch_geometric", "pandas", "scipy"} & set(done.stdout.split())


def test_parts_are_named_by_file_and_number() -> None:
    assert part_name(3, 12) == "00003-000012"


def test_a_file_that_has_changed_is_not_gone_on_with(tmp_path: Path) -> None:
    source, out = tmp_path / "in.smi", tmp_path / "out"
    reader = Reader(out, SourceReading(size=2, part=2))
    empty = pa.table({"reason": pa.array([], pa.string())})

    def told(text: str) -> list[Any]:
        source.write_text(text)
        batch = {"file": np.array([0]), "path": np.array([str(source)])}
        return [json.loads(row["told"][0]) for row in reader(batch)]

    first, *_, last = told("CCO\nCCN\nCCC\n")
    assert last == {"parts": 2, "records": 3, "error": None}
    PartStore(out).put("00000-000000", Recognized(empty, empty), first["content"])
    assert told("CCO\nCCN\nCCC\n")[-1]["error"] is None
    assert "the file has changed" in told("CCO\nCCC\nCCC\n")[-1]["error"]
