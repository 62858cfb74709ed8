"""The shipped models: from the catalog to folders of weights and cards."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vgib.augment import Label, with_fragments
from vgib.chem.assemble import assemble
from vgib.chem.mol import scaffold
from vgib.data.catalog import entry, load, load_table
from vgib.data.files import ensure_writable
from vgib.data.molecules import from_smiles
from vgib.data.packed import PackedGraphs
from vgib.data.splits import Split, random_split
from vgib.ensemble import save_members
from vgib.errors import unknown_name
from vgib.estimator import SubgraphRecognizer
from vgib.oracles import registry
from vgib.oracles.training import PLAUSIBLE, SPECIES

Say = Callable[[str], None]
MEMBERS = 3
SETTINGS: dict[str, Any] = {"hidden": 32, "depth": 3, "head_hidden": 32, "epochs": 30}


@dataclass(frozen=True)
class Places:
    """Where the catalog finds its files."""

    mirror: Path | None = None
    cache: Path | None = None

    def table(self, name: str) -> Any:
        """A table of the catalog."""
        return load_table(name, mirror=self.mirror, cache=self.cache)


@dataclass(frozen=True, eq=False)
class Labelled:
    """What a model is trained and judged on.

    Attributes:
        graphs: Molecules with labels.
        split: Who trains, validates and tests.
        told: How the split was made.
        sources: Names of the catalog.
        oracle: The name of the oracle that labels fragments, if there is one.
    """

    graphs: PackedGraphs
    split: Split
    told: str
    sources: tuple[str, ...]
    oracle: str | None


@dataclass(frozen=True)
class Kind:
    """One shipped model: what it says, and the data it comes from."""

    about: str
    unit: str
    headline: str
    read: Callable[[Places], Labelled]


def _qed(places: Places) -> Labelled:
    table = places.table("ZINC250K")
    graphs = from_smiles(table["smiles"], table["qed"].to_numpy()).graphs
    split = random_split(len(graphs), seed=0)
    return Labelled(graphs, split, "random 85/5/10, seed 0", ("ZINC250K",), "qed")


def _clearance(species: str) -> Callable[[Places], Labelled]:
    name = f"adme/pharmabench_{SPECIES[species]}"

    def read(places: Places) -> Labelled:
        table = places.table(name)
        found = from_smiles(table["smiles"], np.clip(table["clearance"].to_numpy(), *PLAUSIBLE))
        is_test = (table["random_split"] == "test").to_numpy()[found.rows]
        rest = np.random.default_rng(0).permutation(np.flatnonzero(~is_test))
        cut = len(rest) // 10
        split = Split(np.sort(rest[cut:]), np.sort(rest[:cut]), np.flatnonzero(is_test))
        told = (
            "PharmaBench's random label (80 % train), a tenth of it for validation, seed 0; the "
            "oracle that labels fragments knows the same training part"
        )
        return Labelled(found.graphs, split, told, (name,), f"{species}_measured")

    return read


def _drd2(places: Places) -> Labelled:
    names = ("drd2/excape_test", "drd2/excape_actives")
    labelled, actives = (places.table(name) for name in names)
    active = set(actives["smiles"]) | set(labelled["smiles"][labelled["activity"] == 1])
    inactive = labelled["smiles"][labelled["activity"] == 0]
    inactive = inactive[~inactive.isin(active)].sample(3 * len(active), random_state=0)
    smiles = sorted(active) + sorted(inactive)
    y = np.repeat([1, 0], [len(active), len(inactive)])
    graphs = from_smiles(smiles, y).graphs
    split = random_split(len(graphs), seed=0)
    told = "all actives and three times as many inactives; random 85/5/10, seed 0"
    return Labelled(graphs, split, told, names, "drd2")


ELEMENTS = ("C", "O", "Cl", "H", "N", "F", "Br", "S", "P", "I", "Na", "K", "Li", "Ca")
"""The node labels of Mutagenicity, in the order of its read-me."""


def _mutagenicity(places: Places) -> Labelled:
    graphs = load("Mutagenicity", mirror=places.mirror, cache=places.cache)
    assert graphs.y is not None
    smiles, y = [], []
    for number in range(len(graphs)):
        molecule = as_smiles(graphs, number)
        if molecule is not None:
            smiles.append(molecule)
            y.append(1 - int(graphs.y[number]))  # there, 0 is a mutagen
    packed = from_smiles(smiles, np.array(y)).graphs
    split = random_split(len(packed), seed=0)
    told = "graphs as molecules, those with missing hydrogens left out; random 85/5/10, seed 0"
    return Labelled(packed, split, told, ("Mutagenicity",), None)


def as_smiles(graphs: PackedGraphs, number: int) -> str | None:
    """A graph of Mutagenicity as a molecule."""
    data = graphs.to_data(number)
    elements = [ELEMENTS[code] for code in data.x[:, 0].tolist()]
    ends = zip(*data.edge_index.tolist(), data.edge_attr.tolist(), strict=True)
    return assemble(elements, [(a, b, order + 1) for a, b, order in ends if a < b])


KINDS: dict[str, Kind] = {
    "qed": Kind("Drug-likeness (QED)", "none, in [0, 1]", "r_squared", _qed),
    **{
        species: Kind(
            f"Clearance by {SPECIES[species]} liver microsomes, measured",
            "log10 mL/min/g",
            "r_squared",
            _clearance(species),
        )
        for species in SPECIES
    },
    "drd2": Kind("Activity at the dopamine receptor D2", "class 1: active", "roc_auc", _drd2),
    "mutagenicity": Kind(
        "Mutagenicity in the Ames test", "class 1: mutagenic", "roc_auc", _mutagenicity
    ),
}


def train_models(
    name: str,
    out: Path,
    *,
    places: Places,
    say: Say = lambda text: None,
    most: int | None = None,
    settings: dict[str, Any] | None = None,
) -> list[Path]:
    """Trains one shipped model, or ``"all"``, and writes each into a folder of its name.

    What is in its folder already is not trained again.

    Args:
        name: A name of :data:`KINDS`, or ``"all"``.
        out: The folder of folders.
        places: Where the catalog finds its files.
        say: Told what is going on.
        most: Train on so many molecules at most.
        settings: In the place of :data:`SETTINGS`.
    """
    if name not in KINDS and name != "all":
        raise unknown_name("model", name, [*KINDS, "all"])
    ensure_writable(out)
    folders = []
    for each in KINDS if name == "all" else (name,):
        folders.append(out / each)
        if (out / each / "card.json").is_file():
            say(f"{each}: there already")
            continue
        say(f"{each}: reading")
        _train(each, folders[-1], KINDS[each], places, say, most, settings or SETTINGS)
    return folders


def _train(
    name: str,
    folder: Path,
    kind: Kind,
    places: Places,
    say: Say,
    most: int | None,
    settings: dict[str, Any],
) -> None:
    data = kind.read(places)
    trained = np.random.default_rng(0).permutation(data.split.train)[:most]
    graphs = data.graphs[np.sort(trained)]
    models = []
    for seed in range(MEMBERS):
        more = _completed(graphs, data.oracle, seed)
        say(f"{name}: member {seed + 1} of {MEMBERS}, {len(more)} graphs")
        model = SubgraphRecognizer("gin", "vgib", seed=seed, **settings)
        models.append(model.fit(more, val=data.graphs[data.split.val]))
    test = data.graphs[data.split.test[:2000]]
    metrics = models[0].evaluate(test)
    metrics |= _on_new_scaffolds(models[0], graphs, test, kind.headline)
    for model in models:
        card = model.card_
        card.unit, card.headline = kind.unit, kind.headline
        card.licence = "; ".join(dict.fromkeys(entry(source).licence for source in data.sources))
        card.data |= {
            "sources": list(data.sources),
            "split": data.told,
            "molecules": len(graphs),
            "fragments_by": data.oracle,
        }
        card.summary = kind.about
    save_members(models, folder, metrics=metrics)


def _completed(graphs: PackedGraphs, oracle: str | None, seed: int) -> PackedGraphs:
    """The molecules with a fragment each, where something can label it."""
    if oracle is None:
        return graphs
    assert graphs.y is not None
    judge = registry.get(oracle)
    label: Label = judge if graphs.y.is_floating_point() else lambda smiles: judge(smiles) >= 0.5
    return with_fragments(graphs, label, seed=seed)


def _on_new_scaffolds(
    model: SubgraphRecognizer, trained: PackedGraphs, test: PackedGraphs, headline: str
) -> dict[str, Any]:
    """The headline on those test molecules whose scaffold no training molecule has."""
    assert trained.ids is not None and test.ids is not None
    known = {scaffold(smiles) for smiles in trained.ids}
    new = [i for i, smiles in enumerate(test.ids) if scaffold(smiles) not in known]
    found = model.evaluate(test[torch.tensor(new, dtype=torch.int64)])
    return {f"{headline}_new_scaffolds": found[headline]}
