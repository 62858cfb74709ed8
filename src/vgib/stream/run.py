"""A source of molecules to files: everything that ``vgib recognize`` does, from Python."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, partial
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from vgib import __version__
from vgib.data.files import locked, replacing
from vgib.data.processes import Engine
from vgib.data.records import Source
from vgib.errors import FileFormatError, InputError
from vgib.model.card import Card
from vgib.page.html import counted
from vgib.page.recognized import Gallery, recognized_page, refusal_line
from vgib.stream.chunks import AS_IT_COMES, SourceReading, iter_chunks
from vgib.stream.engine import Sink, Tally, recognize_all
from vgib.stream.ledger import Ledger, write_ledger
from vgib.stream.manifest import InputFile, Manifest, read_manifest
from vgib.stream.parts import PartStore
from vgib.stream.recurring import Recurring, beside, what_recurs, write_beside
from vgib.stream.schema import Recognized
from vgib.stream.words import about, facts, part_facts, quantity
from vgib.stream.work import Recognize, carried_fields
from vgib.stream.writers import (
    Write,
    check_outputs,
    open_output,
    picture_writer,
    rejected_output,
    rows_of,
)


@dataclass(frozen=True)
class Writing:
    """What is written, beside the results themselves.

    Attributes:
        outs: Files of results, by their endings.
        stream: Takes the results as they come, for instance to print them.
        pictures: A folder for a picture of each molecule.
        picture_format: SVG or PNG.
        ledger: A CSV file for the fragments that recur.
        measured: The property that the ledger compares: the prediction, or a column of the source.
        plain: Whether text that a spreadsheet would take for a formula is written as it is.
    """

    outs: tuple[Path, ...] = ()
    stream: Write | None = None
    pictures: Path | None = None
    picture_format: Literal["svg", "png"] = "svg"
    ledger: Path | None = None
    measured: str = "prediction"
    plain: bool = False


def recognize_source(
    source: Source,
    work: Recognize,
    writing: Writing,
    reading: SourceReading = AS_IT_COMES,
    *,
    resume: bool = False,
    engine: Engine | None = None,
    on_chunk: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Recognizes every molecule of a source and writes what was asked for.

    Records that cannot be used go to ``OUT.rejected.csv`` beside the first output, or where there
    is one already to ``OUT.2.rejected.csv``, so that no list that a person corrected is lost.
    Finished chunks are kept in ``OUT.parts`` until everything is written, so that after a kill the
    same call with ``resume=True`` goes on and ends with the same files.

    Raises:
        InputError: the source has no usable molecule, or the request cannot be met.
        FileFormatError: the source is damaged.
        UnwritableError: an output cannot be written.
    """
    check_outputs(writing.outs)
    _refuse_own(source, writing)
    needed = () if writing.measured == "prediction" else (writing.measured,)
    chunks = iter_chunks(source, replace(reading, needed=needed))
    first = next(chunks, None)
    schema = work.schema([] if first is None else carried_fields(first.records))
    chunks = chain([] if first is None else [first], chunks)
    tally = Tally()
    with _parts(writing.outs, _manifest(source, work, reading), resume) as parts:
        with ExitStack() as stack:
            outputs = _Outputs(work, writing, schema, parts, stack)
            sinks = list(outputs.sinks())
            recognize_all(work, chunks, sinks, parts, engine=engine, on_chunk=on_chunk, tally=tally)
            outputs.write_pages(tally)
        outputs.write_ledger()
    tally.rejected_file = outputs.refused if tally.refused else None
    return tally


class _Outputs:
    """Everything that a run writes; files get their names when the stack ends without an error."""

    def __init__(
        self,
        work: Recognize,
        writing: Writing,
        schema: pa.Schema,
        parts: PartStore | None,
        stack: ExitStack,
    ) -> None:
        self.work, self.writing, self.schema = work, writing, schema
        self.parts, self.stack = parts, stack
        self.refused = (
            stack.enter_context(free_rejected_file(writing.outs[0])) if writing.outs else None
        )
        self.pages = [out for out in writing.outs if out.suffix.lower() == ".html"]
        self.gallery = Gallery()
        self.ledger = Ledger(writing.measured, classes=work.card.classes)

    def sinks(self) -> Iterator[Sink]:
        """Opens the files, and gives what takes each chunk."""
        for write in self._writes():
            yield partial(_write_results, write)
        if self.refused is not None:
            listing = rejected_output(self.refused, plain=self.writing.plain, begun=self._begun)
            yield self.stack.enter_context(listing)

    def _writes(self) -> Iterator[Write]:
        writing, card = self.writing, self.work.card
        if writing.stream is not None:
            yield writing.stream
        for out in writing.outs:
            if out not in self.pages:
                opened = open_output(out, self.schema, plain=writing.plain, begun=self._begun)
                yield self.stack.enter_context(opened)
        if writing.pictures is not None:
            unit = card.words.effect_unit(card.classes)
            yield picture_writer(writing.pictures, writing.picture_format, unit)
        if self.pages or writing.ledger is not None:
            yield self.ledger.add
        if self.pages:
            yield self._show

    def _begun(self, unfinished: Path) -> None:
        assert self.parts is not None
        self.parts.note_unfinished(unfinished)

    def _show(self, results: pa.Table) -> None:
        """Adds molecules to the gallery of the pages."""
        self.gallery.add(_shown(row, self.work.card) for row in rows_of(results))

    @cached_property
    def found(self) -> Recurring:
        """What recurs over all molecules."""
        return what_recurs(self.ledger.kept, self.ledger.entries())

    def write_pages(self, tally: Tally) -> None:
        """Writes the pages, once all molecules are there."""
        for out in self.pages:
            unfinished = self.stack.enter_context(replacing(out))
            self._begun(unfinished)
            unfinished.write_text(self._page(tally), encoding="utf-8")

    def _page(self, tally: Tally) -> str:
        card, found = self.work.card, self.found
        unit = card.unit.removeprefix("none, ") if card.classes is None else ""
        unit = f" ({unit})" if unit else ""
        refused = [refusal_line(item) for item in tally.first_refused]
        if (more := tally.refused - len(refused)) > 0:
            refused.append(f"... and {more} more, in {self.refused and self.refused.name}")
        return recognized_page(
            f"{card.summary or 'A model'}: recognized molecules",
            f"{counted(tally.recognized, 'molecule')}; of each the part that carries the "
            f"prediction{unit}.",
            self.gallery,
            found.described(),
            about=about(card, self.work.name),
            refused=refused,
            prediction=quantity(card),
            measured=_measured(card, self.writing.measured),
            changes=[asdict(change) for change in found.changes],
            substituents=[asdict(one) for one in found.substituents],
            unit=card.words.effect_unit(card.classes),
        )

    def write_ledger(self) -> None:
        """Writes the ledger, if one was asked for, and what stands beside it."""
        path, plain = self.writing.ledger, self.writing.plain
        if path is not None:
            write_ledger(path, self.found.entries, plain=plain)
            write_beside(path, self.found, plain=plain)


def _write_results(write: Write, found: Recognized) -> None:
    write(found.results)


def _refuse_own(source: Source, writing: Writing) -> None:
    """Refuses to write over what is being read, or over a list that someone may have corrected."""
    written = [*writing.outs]
    if writing.ledger is not None:
        written += [writing.ledger, *beside(writing.ledger)]
    if writing.ledger is not None and writing.ledger.resolve() in map(Path.resolve, writing.outs):
        raise InputError(f"{str(writing.ledger)!r} is the output and the ledger; name two files")
    for path in written:
        if isinstance(source, str | Path) and _is_same(path, Path(source)):
            raise InputError(f"{str(path)!r} is the input itself; name another file to write")
        if path.name.endswith(REJECTED_END):
            raise InputError(
                f"{str(path)!r} is the name of a list of refused records; name another file"
            )


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # one of them is not there
        return False


def settings_of(work: Recognize) -> str:
    """All that decides what comes of a chunk; of the model its weights and its name count."""
    settings = {field.name: getattr(work, field.name) for field in fields(work)}
    del settings["model"]
    settings["called"] = work.name
    weights = [member.card_.weights_sha256 for member in work.recognizer.members()]
    return repr((__version__, weights, sorted(settings.items())))


def _manifest(source: Source, work: Recognize, reading: SourceReading) -> Manifest:
    """What the run is about: its settings and its input, as far as that has a name."""
    path = Path(source) if isinstance(source, str | Path) else None
    there = path is not None and path.is_file()
    file = InputFile(str(path or ""), path.stat().st_size if path and there else 0)
    return Manifest(f"{settings_of(work)} {reading}", [file])


@contextmanager
def _parts(outs: Sequence[Path], manifest: Manifest, resume: bool) -> Iterator[PartStore | None]:
    """The store of finished chunks beside the first output, gone once all is written.

    Without an output there is none: what is only printed touches no disk.
    """
    if not outs:
        yield None
        return
    folder = parts_folder(outs[0])
    parts = PartStore(folder)
    with locked(folder.with_name(f".{folder.name}.lock"), repr(str(outs[0]))):
        if folder.exists():
            _sweep(parts, outs)
            if not resume or not _is_of(folder, manifest.settings):
                parts.remove()
        manifest.write(folder)
        try:
            yield parts
        except InputError:  # the same call would end the same way
            parts.remove()
            raise
        parts.remove()


def _is_of(folder: Path, settings: str) -> bool:
    """Whether the parts in a folder were made with these settings; their names tell of what."""
    try:
        there = read_manifest(folder)
    except FileFormatError:
        return False
    return there is not None and there.settings == settings


def _sweep(parts: PartStore, outs: Sequence[Path]) -> None:
    """Removes the unfinished files that a killed run could not; those of other runs stay."""
    for name in parts.unfinished():
        for out in outs:
            out.with_name(name).unlink(missing_ok=True)


def parts_folder(out: Path) -> Path:
    """Where the finished chunks of a run are kept while it goes on."""
    return out.with_name(f"{out.name}.parts")


REJECTED_END = ".rejected.csv"


def rejected_file(out: Path) -> Path:
    """The side file of records that could not be used."""
    return out.with_name(out.stem + REJECTED_END)


@contextmanager
def free_rejected_file(out: Path) -> Iterator[Path]:
    """The side file, under a name that is free: its owner may have corrected an earlier one.

    No other run takes the name before the block ends.
    """
    for number in count(1):
        path = (
            out.with_name(f"{out.stem}.{number}{REJECTED_END}")
            if number > 1
            else rejected_file(out)
        )
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(path.with_name(f".{path.name}.lock"), repr(str(path))))
            except InputError:  # another run writes it
                continue
            if not path.exists():
                yield path
                return


def _shown(row: dict[str, Any], card: Card) -> dict[str, Any]:
    """A row with what the gallery says of it and of its parts."""
    parts = [part | {"facts": part_facts(part, row, card)} for part in row["subgraphs"]]
    return row | {"facts": list(facts(row, card)), "subgraphs": parts}


def _measured(card: Card, column: str) -> str:
    """What the ledger compares, in words."""
    if column == "prediction" and card.classes is not None:
        return quantity(card)
    return column
