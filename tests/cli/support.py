"""What the tests of the commands share."""

import csv
import io
from collections.abc import Callable
from typing import NamedTuple

from vgib.chem.properties import qed
from vgib.data.molecules import load_drugs

DRUGS = load_drugs().head(36).assign(qed=lambda table: qed(table["smiles"]))
QUICK = ("--set", "epochs=1", "--set", "hidden=8", "--set", "head_hidden=8")


class Done(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Done]


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def assert_explained(done: Done, code: int, message: str) -> None:
    """An error that is one sentence on stderr and nothing else."""
    assert done.code == code, done
    assert message in done.err.replace("\n", " "), done.err
    assert "Traceback" not in done.err
