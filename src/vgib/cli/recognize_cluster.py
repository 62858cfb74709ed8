"""``vgib recognize --engine ray --out FOLDER``: files of molecules in, Parquet parts out."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from vgib.cli import console
from vgib.cli.console import say
from vgib.page.html import counted

if TYPE_CHECKING:
    from vgib.stream.chunks import SourceReading
    from vgib.stream.engine import Tally
    from vgib.stream.manifest import Manifest
    from vgib.stream.work import Recognize


def is_folder(outs: Sequence[Path]) -> bool:
    """Whether the output is one folder: a name without an ending."""
    return len(outs) == 1 and not outs[0].suffix


def recognize_on_cluster(
    source: Any,
    work: "Recognize",
    out: Path,
    reading: "SourceReading",
    *,
    resume: bool,
    workers: int | None,
    address: str | None,
    on_chunk: "Callable[[Tally], None]",
) -> "Manifest":
    """Recognizes every molecule of a file or folder by the workers of a cluster."""
    from vgib.stream.engine import Tally
    from vgib.stream.ray_parts import run_parts
    from vgib.stream.run import settings_of

    if not isinstance(source, Path):
        raise typer.BadParameter("a cluster reads files; give one, or a folder of them")

    if (
        isinstance(work.model, str | Path) and Path(work.model).exists()
    ):  # workers may run in another folder
        work = replace(work, model=Path(work.model).resolve(), called=work.name)

    def on_part(account: "Manifest", share: float) -> None:
        on_chunk(Tally(account.recognized, account.rejected, account.reused, share))

    return run_parts(
        source,
        work,
        out,
        settings_of(work),
        reading,
        address=address,
        workers=workers,
        resume=resume,
        on_part=on_part,
    )


def report_manifest(account: "Manifest", out: Path, as_json: bool) -> None:
    """Tells what was done; an unfinished run ends with 1.

    Raises:
        typer.Exit: some records were not dealt with.
    """
    if as_json:
        names = ("records", "recognized", "rejected", "reused", "complete", "lost", "seconds")
        console.show_json({name: getattr(account, name) for name in names})
    for reason, count in list(account.reasons.items())[:10]:
        say(f"{count:,} rejected: {reason}")
    for file in account.files:
        if file.error:
            say(f"{file.name}: read {file.records:,} records, then {file.error}")
    for name in account.lost:
        say(f"part {name} took its workers down and was given up; --resume tries it again")
    say(
        f"{counted(account.recognized, 'molecule')} recognized, {account.rejected:,} rejected; "
        f"wrote {out / 'results'}"
    )
    if not account.complete:
        raise typer.Exit(1)


@contextmanager
def chunks_bar(*, shown: bool) -> Iterator[Callable[["Tally"], None]]:
    """A progress bar that is told of each finished chunk."""
    columns = (
        BarColumn(),
        TaskProgressColumn(show_speed=False),
        TimeRemainingColumn(),
        TextColumn("{task.fields[counts]}"),
    )
    with Progress(*columns, console=console.talk, transient=True, disable=not shown) as progress:
        bar = progress.add_task("", total=None, counts="reading")

        def advance(tally: "Tally") -> None:
            counts = f"{tally.recognized:,} recognized, {tally.refused:,} refused"
            if tally.reused:
                counts += f", {tally.reused:,} chunks were there"
            total = None if tally.share is None else 1.0
            progress.update(bar, total=total, completed=tally.share or 0.0, counts=counts)

        yield advance
