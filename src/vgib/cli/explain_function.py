"""A function of one's own explained: ``vgib explain --function package.module:name``."""

import math
import sys
from pathlib import Path

from vgib.cli import console
from vgib.cli.console import say
from vgib.errors import InputError
from vgib.limits import FileReading
from vgib.page.html import counted


def explain_by_function(
    source: str,
    name: str,
    out: Path,
    *,
    close: str,
    effects: str,
    smiles_column: str | None,
    limit: int | None,
    mirror: Path | None,
    cache: Path | None,
    max_atoms: int,
    how: FileReading,
    seed: int,
    as_json: bool,
) -> None:
    """Writes the effects of the parts and atoms of each molecule, as two tables.

    Raises:
        InputError: the source holds graphs that are not molecules.
    """
    import pandas as pd

    from vgib.data.files import check_replaceable, ensure_writable, replacing_folder
    from vgib.data.loading import load_graphs
    from vgib.data.molecules import Molecules
    from vgib.explain.function import explain_function, import_function

    if "" not in sys.path:
        sys.path.insert(0, "")  # as `python -m` does: the function may stand in this folder
    function = import_function(name)
    files = ("effects.csv", "atoms.csv")
    check_replaceable(out, files)
    ensure_writable(out.absolute().parent)
    molecules = load_graphs(
        source,
        smiles_column=smiles_column,
        labeled=False,
        limit=limit,
        cache=cache,
        mirror=mirror,
        progress=True,
        max_atoms=max_atoms,
        how=how,
    )
    if not isinstance(molecules, Molecules):
        raise InputError(
            f"{source!r} holds graphs that are not molecules; --function explains molecules alone"
        )
    console.report_rejected(molecules)
    found = explain_function(
        function,
        molecules.graphs.ids or (),
        close=close,  # type: ignore[arg-type]  # checked there, with a suggestion
        effects=effects,  # type: ignore[arg-type]
        seed=seed,
        progress=True,
    )
    rows = [row + 1 for row in molecules.rows.tolist()]
    parts = [one.to_frame().assign(row=row) for row, one in zip(rows, found, strict=True)]
    atoms = [
        pd.DataFrame(
            {"row": row, "smiles": one.smiles, "atom": range(len(one.atoms)), "effect": one.atoms}
        )
        for row, one in zip(rows, found, strict=True)
    ]
    with replacing_folder(out, files) as place:
        for file, tables in zip(files, (parts, atoms), strict=True):
            table = pd.concat(tables) if tables else pd.DataFrame({"row": []})
            table = table[["row", *(column for column in table.columns if column != "row")]]
            table.to_csv(place / file, index=False, float_format="%.6g")
    account = {
        "folder": str(out),
        "molecules": len(found),
        "without_a_value": sum(math.isnan(one.value) for one in found),
        "refused": len(molecules.rejected),
    }
    if as_json:
        console.show_json(account)
    say(f"{counted(len(found), 'molecule')} explained; see {out / 'effects.csv'}")
