"""Options and arguments that several verbs share."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

import typer

from vgib.data.records import SUFFIXES
from vgib.errors import InputError
from vgib.select.policy import BY_HELP, RULE_HELP

if TYPE_CHECKING:
    from vgib.data import processes as parallel

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Mirror = Annotated[
    Path | None,
    typer.Option(
        help="A folder with copies of the public files, read in the place of downloads and "
        "checked against its SHA256SUMS.",
        envvar="VGIB_MIRROR",
    ),
]
Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="The graphs: a table of molecules (.csv, .xlsx, .smi, .sdf), a TU zip or folder, a "
        "folder of PyG Data files (.pt), or a name of `vgib data list`.",
    ),
]
Target = Annotated[str | None, typer.Option(help="The column of values or classes to learn.")]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        metavar="COLUMN",
        help="The column of values or classes to learn. May be repeated for several columns of "
        "values, in which some may be missing.",
    ),
]
Device = Annotated[str, typer.Option(help="The device that computes: cpu or cuda.")]
Structures = Annotated[
    str | None,
    typer.Option(
        help="The column that holds the structures. Default: found by its name or content."
    ),
]
Classes = Annotated[
    bool,
    typer.Option(
        "--classes",
        help="Take the numbers of the column for classes (0, 1, ...); words always are classes.",
    ),
]
Encoder = Annotated[
    str | None,
    typer.Option(
        help="The kind of network that reads graphs: gcn, gat, sage or gin; gine, "
        "gine-skip and gat-edge read bonds too. By default that of the preset: recommended is "
        "gine-skip for molecules and gin for other graphs."
    ),
]
Bottleneck = Annotated[
    str | None,
    typer.Option(
        help="The method that finds the subgraph: vgib, vgib-paper, vgib-reference, gib, "
        "gsat, gmt-sam, attention or none. Default: the one of the preset."
    ),
]
Preset = Annotated[
    str,
    typer.Option(
        help="Where settings come from that you do not give: recommended (what works best here), "
        "paper (its equations) or reference (its authors' program)."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting to change, by its name, such as epochs=50; may be repeated.",
    ),
]
Cache = Annotated[
    Path | None, typer.Option(help="The folder in which downloads are kept.", envvar="VGIB_CACHE")
]
RuleOption = Annotated[str | None, typer.Option("--rule", help=RULE_HELP)]
ByOption = Annotated[str | None, typer.Option("--by", help=BY_HELP)]
Engine = Annotated[
    Literal["local", "ray"],
    typer.Option(
        help="Where the work is done: by processes of this machine, or by a Ray cluster "
        "(pip install 'vgib[ray]')."
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="The address of a running Ray cluster, or auto; without it Ray starts on this "
        "machine and ends with the command."
    ),
]


Encoding = Annotated[
    str, typer.Option(help="The encoding of a text file, such as utf-8 or latin-1.")
]
MaxAtoms = Annotated[
    int, typer.Option(min=1, help="The most heavy atoms of a molecule; larger ones are refused.")
]
MaxRecord = Annotated[
    int,
    typer.Option(
        min=1, help="The most bytes of one line, cell or SD record; longer ones are refused."
    ),
]
MaxUnpacked = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="The most bytes that a compressed file may unpack to. Default: 100 times its size.",
        show_default=False,
    ),
]


def refuse_given(context: typer.Context, names: Iterable[str], why: str) -> None:
    """Refuses options that were given on the command line and would change nothing.

    Args:
        context: The context of the command.
        names: These options, as the command's function calls them.
        why: What a sentence says of such an option after its name.

    Raises:
        typer.BadParameter: one was given.
    """
    options = {option.name: option for option in context.command.params}
    for name in names:
        source = context.get_parameter_source(name)
        is_given = source is not None and source.name == "COMMANDLINE"
        if is_given and context.params[name] != options[name].get_default(context):
            raise typer.BadParameter(f"{options[name].opts[0]} {why}; leave it out")


def molecule_source(inputs: list[str]) -> Path | BinaryIO | list[str]:
    """One file, or SMILES as lines; standard input when there is nothing."""
    if not inputs:
        if sys.stdin.isatty():
            raise typer.BadParameter("give SMILES or a file, or pipe SMILES into standard input")
        return sys.stdin.buffer
    paths = [Path(item) for item in inputs if _is_there(Path(item))]
    if paths and len(inputs) > 1:
        raise typer.BadParameter("give one file, or SMILES, not both")
    if not paths and len(inputs) == 1 and Path(inputs[0]).suffix in {*SUFFIXES, ".gz"}:
        raise InputError(f"there is no file {inputs[0]!r}")
    return paths[0] if paths else [_line(text) for text in inputs]


def _line(text: str) -> str:
    """A structure as a line of a file; a drug that goes by its name is called so."""
    from vgib.chem.drugs import structure_of

    found = structure_of(text)
    return text if found == text else f"{found} {text}"


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a long SMILES is too long for a file name
        return False


def engine_of(name: Engine, workers: int | None, address: str | None) -> "parallel.Engine":
    """Who does the work: processes of this machine, or the workers of a cluster."""
    if name == "ray":
        from vgib.stream.ray_engine import RayEngine

        return RayEngine(address, workers=workers)
    from vgib.data.processes import LocalProcesses

    return LocalProcesses(workers or 1)
