"""What reads on a cluster starts quickly."""

import subprocess
import sys

from vgib.stream.parts import part_name


def test_a_process_that_reads_does_not_import_torch() -> None:
    told = "import sys, vgib.stream.ray_reading; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], check=True, capture_output=True, text=True)
    assert not {"torch", "torch_geometric", "pandas", "scipy"} & set(done.stdout.split())


def test_parts_are_named_by_file_and_number() -> None:
    assert part_name(3, 12) == "00003-000012"
