"""Order, counts and failures, whatever the engine."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.stream.conftest import SMILES

from vgib.data.processes import LocalProcesses, Outcome
from vgib.errors import InputError
from vgib.stream.careful import WorkerError
from vgib.stream.chunks import SourceReading, iter_chunks
from vgib.stream.engine import OneProcess, Tally, recognize_all
from vgib.stream.parts import PartStore
from vgib.stream.schema import Recognized
from vgib.stream.work import Recognize


class Backwards:
    """An engine whose jobs finish in the opposite order."""

    def map(self, work: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Outcome[Any, Any]]:
        yield from reversed(list(OneProcess().map(work, jobs)))


class Failing:
    def map(self, work: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Outcome[Any, Any]]:
        yield from (Outcome(job, None, "KeyError: x\nTraceback", 0.0) for job in jobs)


TEXTS = [*SMILES[:10], "oops", *SMILES[10:20]]


@pytest.mark.parametrize("is_kept", [True, False], ids=["on-disk", "in-memory"])
@pytest.mark.parametrize(
    "engine", [None, Backwards(), LocalProcesses(2)], ids=["alone", "backwards", "processes"]
)
def test_results_come_in_the_order_of_the_source(
    engine: Any, is_kept: bool, model: Path, tmp_path: Path, forked: None
) -> None:
    seen: list[Recognized] = []
    told: list[int] = []
    tally = recognize_all(
        Recognize(model),
        iter_chunks(TEXTS, SourceReading(size=5)),
        [seen.append],
        PartStore(tmp_path) if is_kept else None,
        engine=engine,
        on_chunk=lambda now: told.append(now.recognized),
    )
    lines = [line for found in seen for line in found.results["line"].to_pylist()]
    assert lines == [*range(1, 11), *range(12, 22)]
    assert (tally.recognized, tally.refused, tally.reused) == (20, 1, 0)
    assert tally.records == 21 and any(tmp_path.iterdir()) == is_kept
    assert tally.first_refused[0]["line"] == 11 and told == [5, 10, 14, 19, 20]


def test_what_is_finished_is_not_computed_again(model: Path, tmp_path: Path) -> None:
    work, parts = Recognize(model), PartStore(tmp_path)
    first: list[Recognized] = []
    recognize_all(work, iter_chunks(TEXTS[:10], SourceReading(size=5)), [first.append], parts)
    second: list[Recognized] = []
    tally = recognize_all(work, iter_chunks(TEXTS, SourceReading(size=5)), [second.append], parts)
    assert tally.reused == 2 and second[:2] == first
    whole = recognize_all(
        work, iter_chunks(TEXTS, SourceReading(size=5)), [], parts, engine=Failing()
    )
    assert whole.reused == 5 and whole.recognized == 20  # no job was left that could fail


def test_a_job_that_fails_names_its_lines(model: Path, tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match=r"lines 1 to 5 could not .* KeyError: x; .* --resume"):
        recognize_all(
            Recognize(model),
            iter_chunks(TEXTS, SourceReading(size=5)),
            [],
            PartStore(tmp_path),
            engine=Failing(),
        )


def test_nothing_usable_is_an_error_with_the_first_reason(model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none of the 2 molecules can be used; line 1 \(oops\)"):
        recognize_all(Recognize(model), iter_chunks(["oops", "C1"]), [], PartStore(tmp_path))


def test_only_the_first_refusals_and_notes_are_remembered(model: Path) -> None:
    tally = Tally()
    work = Recognize(model)
    for chunk in iter_chunks(["oops"] * 30 + ["CC.C"] * 30, SourceReading(size=7)):
        tally.add(work(chunk.records))
    assert (tally.recognized, tally.refused) == (30, 30)
    assert len(tally.first_refused) == len(tally.first_notes) == 10
    assert tally.first_notes[0]["line"] == 31
