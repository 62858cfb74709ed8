"""One record that no process survives costs itself, whatever the engine."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.stream.conftest import SMILES
from tests.stream.molecules import Deadly

from vgib.data.processes import LocalProcesses
from vgib.errors import InputError
from vgib.stream.careful import WorkerError, carefully
from vgib.stream.chunks import SourceReading, iter_chunks
from vgib.stream.engine import recognize_all
from vgib.stream.parts import PartStore
from vgib.stream.schema import Recognized
from vgib.stream.work import Recognize

LINES = [f"{text} m{number}" for number, text in enumerate(SMILES[:14])]
LINES[4], LINES[9] = "CCO kills", "CCN kills"
GOOD = [line for line in range(1, 15) if line not in (5, 10)]


def lines(found: list[Recognized], kind: str) -> list[int]:
    return [line for one in found for line in getattr(one, kind)["line"].to_pylist()]


def test_the_record_is_found_by_halves_and_all_others_are_used(model: Path, forked: None) -> None:
    chunks = [chunk.records for chunk in iter_chunks(LINES, SourceReading(size=8))]
    found = carefully(Deadly(model), chunks)
    assert lines(found, "results") == GOOD and lines(found, "rejected") == [5, 10]
    assert [len(one.results) for one in found] == [7, 5]
    (reason,) = found[0].rejected["reason"].to_pylist()
    assert "cannot survive this record" in reason and "SIGKILL" in reason
    names = [name for one in found for name in one.results["id"].to_pylist()]
    assert names == [f"m{line - 1}" for line in GOOD]


def test_an_error_of_the_work_is_told(model: Path, tmp_path: Path) -> None:
    (chunk,) = iter_chunks(["CCO"])
    with pytest.raises(WorkerError, match="there is no model folder"):
        carefully(Recognize(tmp_path / "nothing"), [chunk.records])


def test_processes_lose_the_record_and_not_the_run(model: Path, forked: None) -> None:
    seen: list[Recognized] = []
    tally = recognize_all(
        Deadly(model),
        iter_chunks(LINES, SourceReading(size=8)),
        [seen.append],
        engine=LocalProcesses(1),
    )
    assert lines(seen, "results") == GOOD and tally.refused == 2


ALONE = """
import sys
from pathlib import Path
from tests.stream.molecules import Deadly
from tests.stream.test_careful import LINES
from vgib.stream.chunks import SourceReading, iter_chunks
from vgib.stream.engine import recognize_all
from vgib.stream.parts import PartStore
if __name__ == "__main__":
    chunks = iter_chunks(LINES, SourceReading(size=8))
    recognize_all(Deadly(sys.argv[1]), chunks, [], PartStore(Path(sys.argv[2])))
"""


def test_a_run_in_one_process_goes_on_behind_the_record_that_ended_it(
    model: Path, tmp_path: Path, forked: None
) -> None:
    (tmp_path / "alone.py").write_text(ALONE)
    command = [sys.executable, tmp_path / "alone.py", model, tmp_path / "parts"]
    for ended in (-9, -9):  # each chunk has one such record
        done = subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"})
        assert done.returncode == ended
    seen: list[Recognized] = []
    chunks = iter_chunks(LINES, SourceReading(size=8))
    tally = recognize_all(Deadly(model), chunks, [seen.append], PartStore(tmp_path / "parts"))
    assert lines(seen, "results") == GOOD and tally.refused == 2 and tally.reused == 1


def test_a_file_of_nothing_else_says_so(model: Path) -> None:
    with pytest.raises(InputError, match=r"the molecule cannot be used; line 1 .*cannot survive"):
        recognize_all(Deadly(model), iter_chunks(["CCO kills"]), [], engine=LocalProcesses(1))
