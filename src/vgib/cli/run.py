"""The jobs of an experiment: ``vgib run``."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from vgib.cli import console
from vgib.cli.console import say
from vgib.cli.options import Address, Cache, Engine, Json, Mirror, engine_of


def run(
    name: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE",
            help="The experiment to run: a name such as table4, or a .toml file of your own.",
        ),
    ],
    settings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE]...",
            help="Settings that take the place of the recipe's, such as epochs=5.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many jobs run at once, on a core each. Default: 1; on Ray, every core."
        ),
    ] = None,
    engine: Engine = "local",
    address: Address = None,
    out: Annotated[
        Path, typer.Option(help="The folder in which each finished job leaves its record.")
    ] = Path("results"),
    subset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AXIS=A,B",
            help="Run only some rows or columns of the table, such as dataset=MUTAG,DD.",
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Compute again the jobs whose records were made by an earlier version of the "
            "code.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Say how many jobs are left and how long they take, and run none."
        ),
    ] = False,
    mirror: Mirror = None,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Run the jobs of an experiment that have no record yet; stop and go on as you like."""
    from vgib.config import assignments
    from vgib.experiments.engine.coverage import outdated
    from vgib.experiments.engine.live import Board, counts, shown
    from vgib.experiments.engine.recipe import recipe
    from vgib.experiments.engine.records import Records

    made = recipe(name)
    jobs = made.jobs(assignments(settings or []), assignments(subset or []))
    records = Records(out / made.folder)
    done = records.by_key()
    old = outdated(made, jobs, done) if again else set()
    board = Board(made, jobs, {key: done[key] for key in done.keys() - old}, workers or 1)
    if not dry_run:
        from vgib.experiments.engine.runner import run_recipe

        outcomes = run_recipe(
            made,
            jobs,
            records,
            engine_of(engine, workers, address),
            again=again,
            # Workers may run in another folder.
            mirror=mirror and mirror.resolve(),
            cache=cache and cache.resolve(),
        )
        with closing(outcomes), shown(board, console.talk) as tell:
            for outcome in outcomes:
                tell(outcome.job, outcome.result)
                if outcome.error is not None:
                    say(f"{outcome.job.key()} failed: {outcome.error}")
    if as_json:
        console.show_json(counts(board))
    else:
        Console().print(board.table())
    if board.failed:
        raise typer.Exit(1)
