"""What makes the recommended model of a molecule's property: one change at a time.

    python -m benchmarks.recommended --mirror DATA --out results/benchmarks/recommended.json
    python -m benchmarks.recommended --page      # puts the table of the records into the page

Everything is judged on validation molecules of the published lists; test molecules are not touched.
For clearance these are molecules that the list oracle was calibrated but not trained on, and that
no model here is trained on: the oracle says more of those that it was trained on than of any that
is tested, so that what is chosen by them does not hold. A line for each variant, property and share
of the atoms: the divergence of the chosen part, of random ring-intact parts and of the best one,
and the share of that gap which is closed.
"""

import argparse
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch

from vgib.data.catalog import load_table
from vgib.data.files import write_text
from vgib.data.molecules import from_smiles
from vgib.data.packed import PackedGraphs
from vgib.data.splits import random_split
from vgib.experiments.table1.atlas import Atlas, Nodes, atlas_of
from vgib.experiments.table1.gap import at_own_size, at_share
from vgib.experiments.table1.molecules import oracle_of
from vgib.model.augment import with_fragments
from vgib.model.recognizer import SubgraphRecognizer
from vgib.oracles.training import calibration_members
from vgib.select.policy import Selection

SHARES = (0.3, 0.5, 0.7)
PROPERTIES = ("qed", "hlm", "mlm", "rlm")
JUDGED = 300
ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "results" / "benchmarks" / "recommended.json"
PAGE = ROOT / "docs" / "studies.md"


@dataclass(frozen=True)
class Variant:
    """How a model is trained.

    ``members`` of them with other seeds choose together; ``rule`` is how.
    """

    fragments: int = 2
    shares: tuple[float, float] = (0.2, 0.9)
    whole: bool = True
    molecules: int = 8000
    encoder: str = "gin"
    bottleneck: str = "vgib-paper"
    members: int = 1
    rule: str = "guided"
    hidden: int = 64
    epochs: int = 12
    options: tuple[tuple[str, Any], ...] = ()

    def settings(self) -> dict[str, Any]:
        """The options of the estimator."""
        shape = {"hidden": self.hidden, "head_hidden": self.hidden, "epochs": self.epochs}
        form = {"prior": "population", "subgraph": 1.0} if self.bottleneck == "vgib-paper" else {}
        training = {"batch_size": 128, "lr": 3e-3, "cosine": True}
        return shape | form | training | dict(self.options)


BASE = Variant()
# What an oracle has learned by heart does not enter: of a molecule there are only fragments.
ALONE = replace(BASE, fragments=3, shares=(0.2, 1.0), whole=False)
MANY = replace(
    ALONE,
    fragments=6,
    shares=(0.3, 1.0),
    molecules=13500,
    epochs=10,
    options=(("batch_size", 256), ("lr", 4e-3)),
)
# Each changes the first in one place, but for those of many fragments; Table 1 has the six alone.
VARIANTS: dict[str, Variant] = {
    "two fragments and molecules": BASE,
    "three members choose": replace(BASE, members=3),
    "node scores alone": replace(BASE, rule="ring_intact"),
    "fragments alone": ALONE,
    "six fragments alone": replace(MANY, molecules=8000),
    "many fragments alone": MANY,
    "many fragments and molecules": replace(MANY, whole=True),
    "many fragments alone, three members": replace(MANY, members=3),
    "no fragments": replace(BASE, fragments=0, epochs=36),
    "one fragment each": replace(BASE, fragments=1, epochs=18),
    "no bottleneck": replace(BASE, bottleneck="none"),
    "GCN": replace(BASE, encoder="gcn"),
    "32 channels": replace(BASE, hidden=32),
    "beta 0.1": replace(BASE, options=(("beta", 0.1),)),
}


@dataclass
class Molecules:
    """Training and validation molecules of a property; models and fragments are made once."""

    name: str
    mirror: Path | None
    cache: Path | None

    def __post_init__(self) -> None:
        table = load_table(f"vgib/{self.name}", mirror=self.mirror, cache=self.cache)
        split = random_split(len(table), seed=0)
        rng = np.random.default_rng(0)
        train, val = rng.permutation(split.train), rng.permutation(split.val)
        self.smiles, self.values = table["smiles"].to_numpy(), table[self.name].to_numpy()
        unknown = val[:JUDGED]
        if self.name != "qed":
            unknown = calibration_members(self.name, mirror=self.mirror, cache=self.cache)
            unknown = rng.permutation(unknown)
        self.judged = self.graphs(unknown[:JUDGED])
        self.train_rows = train[~np.isin(train, unknown)]
        self.val = self.graphs(val[~np.isin(val, unknown)][:500])
        self.oracle = oracle_of(self.name)
        self.fitted: dict[str, tuple[SubgraphRecognizer, float]] = {}

    def graphs(self, rows: Any) -> PackedGraphs:
        """Some molecules of the list."""
        return from_smiles(self.smiles[rows], self.values[rows], workers=1).graphs

    def completed(self, graphs: PackedGraphs, variant: Variant, seed: int) -> PackedGraphs:
        """The fragments of some molecules, with the molecules or without."""
        return with_fragments(
            graphs,
            self.oracle,
            seed=seed,
            per_molecule=variant.fragments,
            shares=variant.shares,
            whole=variant.whole,
        )

    def model(self, variant: Variant, seed: int) -> tuple[SubgraphRecognizer, float]:
        """A trained model and its seconds on one core, the labelling of fragments left out."""
        key = repr(replace(variant, members=1, rule="")) + str(seed)
        if key not in self.fitted:
            parts = [self.graphs(self.train_rows[: variant.molecules]), self.val]
            if variant.fragments:
                parts = [self.completed(part, variant, seed) for part in parts]
            model = SubgraphRecognizer(
                variant.encoder,
                variant.bottleneck,
                seed=seed,
                **variant.settings(),
            )
            started = process_time()
            model.fit(parts[0], val=parts[1])
            self.fitted[key] = model, process_time() - started
        return self.fitted[key]


def chosen(models: list[SubgraphRecognizer], graphs: PackedGraphs, rule: str) -> list[list[Nodes]]:
    """For each share the chosen part of each molecule."""
    answer = SubgraphRecognizer.together(models).answer(graphs)
    found = []
    for keep in SHARES:
        ranked = answer.chosen(Selection.of(keep, rule))
        found.append([nodes for nodes, *_ in ranked])
    return found


def judged(atlas: Atlas, parts: list[Nodes], keep: float) -> dict[str, Any]:
    """The gap at a share, and among parts of exactly the same number of atoms."""
    gap, strict = at_share(atlas, parts, keep), at_own_size(atlas, parts)
    told = {"keep": keep, "kept_share": float(gap.kept.mean()), **gap.told()}
    return told | {"gap_closed_at_own_size": strict.closed.to_json()}


def records(molecules: Molecules, title: str, seed: int) -> list[dict[str, Any]]:
    """A line for each share."""
    variant = VARIANTS[title]
    trained = [molecules.model(variant, seed + k) for k in range(variant.members)]
    parts = chosen([model for model, _ in trained], molecules.judged, variant.rule)
    head = {"property": molecules.name, "variant": title, "seed": seed}
    head["seconds"] = round(sum(seconds for _, seconds in trained), 1)
    assert molecules.judged.ids is not None
    atlas = atlas_of(molecules.oracle, molecules.judged.ids)
    return [head | judged(atlas, nodes, k) for k, nodes in zip(SHARES, parts, strict=True)]


def table(lines: list[dict[str, Any]]) -> str:
    """The share of the gap that is closed, a row for each property and variant; seed 0."""
    rows = [
        "| property | variant | 0.3 | 0.5 | 0.7 | 0.5, same number of atoms |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    first = [line for line in lines if line["seed"] == 0]
    order = [*VARIANTS]
    pairs = {(PROPERTIES.index(line["property"]), order.index(line["variant"])) for line in first}
    for place, number in sorted(pairs):
        name, title = PROPERTIES[place], order[number]
        own = {x["keep"]: x for x in first if (x["property"], x["variant"]) == (name, title)}
        cells = [_interval(own[keep]["gap_closed"]) for keep in SHARES]
        cells.append(_interval(own[0.5]["gap_closed_at_own_size"]))
        rows.append(f"| {name} | {title} | {' | '.join(cells)} |")
    return "\n".join(rows)


def filled(page: str) -> str:
    """The page with the table of the committed records between its marks."""
    drawn = table(json.loads(RECORDS.read_text(encoding="utf-8")))
    before, _, rest = page.partition("<!-- recommended -->\n")
    return f"{before}<!-- recommended -->\n{drawn}\n<!-- end -->{rest.partition('<!-- end -->')[2]}"


def _interval(found: dict[str, float]) -> str:
    return f"{found['value']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"


def main() -> None:
    """Parses the arguments, trains and judges, prints."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print the records on stdout")
    parser.add_argument("--out", type=Path, help="a file to add each record to; goes on from it")
    parser.add_argument("--page", action="store_true", help="draw the table, compute nothing")
    parser.add_argument("--only", choices=VARIANTS, nargs="*", help="some variants, not all")
    parser.add_argument("--property", choices=PROPERTIES, nargs="*", help="some properties")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds (default 1)")
    parser.add_argument("--mirror", type=Path, help="a folder that holds the public files")
    parser.add_argument("--cache", type=Path, help="where downloads are kept")
    given = parser.parse_args()
    if given.page:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return
    torch.set_num_threads(1)
    lines = json.loads(given.out.read_text()) if given.out and given.out.is_file() else []
    done = {(line["property"], line["variant"], line["seed"]) for line in lines}
    for name in given.property or PROPERTIES:
        molecules: Molecules | None = None
        for title in given.only or VARIANTS:
            for seed in range(given.seeds):
                if (name, title, seed) in done:
                    continue
                molecules = molecules or Molecules(name, given.mirror, given.cache)
                lines += records(molecules, title, seed)
                closed = [f"{line['gap_closed']['value']:.2f}" for line in lines[-len(SHARES) :]]
                print(f"{name} {title:22s}", *closed, file=sys.stderr, flush=True)
                if given.out:
                    write_text(given.out, json.dumps(lines, indent=1) + "\n")
    if given.json:
        print(json.dumps(lines, indent=1))


if __name__ == "__main__":
    main()
