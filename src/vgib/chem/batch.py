"""Many SMILES or mol blocks to arrays, in this process or in several, always in order."""

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TypeVar, get_args

from rdkit import rdBase

from vgib.chem.mol import (
    MAX_ATOMS,
    Mixtures,
    Mol,
    MolArrays,
    encode,
    parse_aloud,
    smiles_of_molblock,
)
from vgib.errors import InputError, unknown_name

logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class Reading:
    """How structures are read.

    Attributes:
        features: The vocabulary of the atom codes, ``"rich"`` or ``"element"``.
        mixtures: Whether the ``"largest"`` component is kept or a mixture is an ``"error"``.
        max_atoms: The largest number of heavy atoms that is accepted.
        is_molblock: Whether the texts are mol blocks and not SMILES.
        keep_mols: Whether the RDKit molecules are handed out as well, for fragments and pictures.
    """

    features: str = "rich"
    mixtures: Mixtures = "largest"
    max_atoms: int = MAX_ATOMS
    is_molblock: bool = False
    keep_mols: bool = False

    def __post_init__(self) -> None:
        if self.mixtures not in get_args(Mixtures):
            raise unknown_name("treatment of mixtures", self.mixtures, get_args(Mixtures))


@dataclass(frozen=True, eq=False)
class Readings:
    """What came of some texts.

    Attributes:
        arrays: The molecules that could be read.
        smiles: Their SMILES, with the atoms in the order of the arrays.
        kept: The position of each of them among the texts.
        refused: Position and reason of each other text.
        notes: Position and remark where something was changed.
        mols: The molecules themselves, if they are kept, else empty.
    """

    arrays: MolArrays
    smiles: list[str]
    kept: list[int]
    refused: list[tuple[int, str]]
    notes: list[tuple[int, str]]
    mols: list[Mol]


def read(texts: Sequence[str], how: Reading) -> Readings:
    """Reads each text; what cannot be used is refused with its reason."""
    mols, smiles, kept = [], [], []
    refused: list[tuple[int, str]] = []
    notes: list[tuple[int, str]] = []
    with rdBase.BlockLogs():
        for position, text in enumerate(texts):
            try:
                source = smiles_of_molblock(text) if how.is_molblock else text
                parsed = parse_aloud(
                    source, mixtures=how.mixtures, max_atoms=how.max_atoms, stereo=False
                )
            except InputError as error:
                refused.append((position, str(error)))
                continue
            mols.append(parsed.mol)
            smiles.append(parsed.smiles)
            kept.append(position)
            if parsed.note:
                notes.append((position, parsed.note))
    return Readings(
        encode(mols, how.features), smiles, kept, refused, notes, mols if how.keep_mols else []
    )


def read_chunks(
    chunks: Iterable[tuple[T, Sequence[str]]], how: Reading, *, workers: int = 1
) -> Iterator[tuple[T, Readings]]:
    """Reads chunk after chunk, each handed back with its tag; memory holds a few chunks at most.

    Several workers are fresh processes, so a script that asks for them needs the usual
    ``if __name__ == "__main__":``. Where processes cannot be started or die, the work goes on here.
    """
    if workers <= 1:
        for tag, texts in chunks:
            yield tag, read(texts, how)
        return
    waiting: deque[tuple[T, Sequence[str], Future[Readings] | None]] = deque()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for tag, texts in chunks:
            future = None
            with suppress(BrokenProcessPool):
                future = pool.submit(read, texts, how)
            waiting.append((tag, texts, future))
            if len(waiting) > 2 * workers:
                yield _finished(*waiting.popleft(), how)
        while waiting:
            yield _finished(*waiting.popleft(), how)


def _finished(
    tag: T, texts: Sequence[str], future: "Future[Readings] | None", how: Reading
) -> tuple[T, Readings]:
    try:
        if future is not None:
            return tag, future.result()
    except BrokenProcessPool:
        logger.warning("worker processes ended early; reading on in this process")
    return tag, read(texts, how)
