"""The shipped models: from the catalog to folders of weights and cards."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from vgib.chem.assemble import Assembled, assemble
from vgib.chem.mol import scaffold
from vgib.chem.standardize import Standard, StandardName
from vgib.data.catalog import entry, load, load_table
from vgib.data.files import ensure_writable
from vgib.data.molecules import Molecules, from_smiles
from vgib.data.packed import PackedGraphs
from vgib.data.sources import Places
from vgib.data.splits import Index, Split, random_split
from vgib.errors import unknown_name
from vgib.experiments.table1.atlas import atlas_of
from vgib.experiments.table1.gap import at_share
from vgib.metrics import Estimate, mean, node_auc, r_squared, roc_auc
from vgib.model.augment import Label, with_fragments
from vgib.model.card import CARD_FILE, Card, save_model
from vgib.model.known import Known
from vgib.model.recognizer import MEMBERS as MEMBERS_FOLDER
from vgib.model.recognizer import SubgraphRecognizer
from vgib.oracles import registry
from vgib.oracles.training import PLAUSIBLE, SPECIES
from vgib.select.masks import mask_of
from vgib.select.policy import Selection
from vgib.select.random import random_connected

Say = Callable[[str], None]

MEMBERS = 3
STANDARD: StandardName = "usual"
"""As ``vgib train`` reads molecules: a salt or a charged form is predicted as its drug is."""
JUDGED = 100
JUDGED_ATOMS = 32
"""So many held-out molecules, of so many atoms at most, are judged part by part: larger ones have
thousands of parts."""


@dataclass(frozen=True, eq=False)
class Labeled:
    """What a model is trained and judged on."""

    graphs: PackedGraphs
    split: Split
    told: str
    """How the split was made."""
    sources: tuple[str, ...]
    """Names of the catalog."""
    oracle: str | None
    """Who labels fragments."""


@dataclass(frozen=True)
class Kind:
    """One shipped model: what it says, the data it comes from, and how it is trained.

    Attributes:
        unit: Of the value, or what the classes are.
        epochs: Passes over the training graphs, where there are so many that fewer are enough.
        most: Training molecules of each member, which draws its own of them.
        fragments: Random fragments of each, where an oracle can label them.
        tells_known: Whether the folder holds fingerprints of the training molecules with their
            measured values, which the terms of the data must allow.
    """

    about: str
    unit: str
    headline: str
    read: Callable[[Places], Labeled]
    epochs: int | None = None
    most: int | None = None
    fragments: int = 0
    tells_known: bool = False


def _qed(places: Places) -> Labeled:
    table = load_table("ZINC250K", **places)
    parts = random_split(len(table), seed=0)
    # More than the members draw; to read all would take as long as to train one.
    drawn = Split(*map(_some, (parts.train, parts.val, parts.test), (40_000, 1_500, 2_500)))
    rows = np.concatenate([drawn.train, drawn.val, drawn.test])
    graphs = _read(table["smiles"].iloc[rows], table["qed"].to_numpy()[rows]).graphs
    ends = np.cumsum([len(drawn.train), len(drawn.val), len(drawn.test)])
    split = Split(*np.split(np.arange(ends[-1]), ends[:-1]))
    told = (
        "random 85/5/10 of all of ZINC250K, seed 0; of these 40,000, 1,500 and 2,500 at random, of "
        "which each member draws its own for training"
    )
    return Labeled(graphs, split, told, ("ZINC250K",), "qed")


def _read(smiles: Iterable[str], y: npt.ArrayLike) -> Molecules:
    """Molecules in the form in which every model is asked about them later."""
    return from_smiles(smiles, y, standard=Standard.named(STANDARD), workers=1)


def _some(rows: Index, count: int) -> Index:
    """So many of some rows, at random."""
    return np.sort(np.random.default_rng(0).permutation(rows)[:count])


def _clearance(species: str) -> Callable[[Places], Labeled]:
    name = f"adme/pharmabench_{SPECIES[species]}"

    def read(places: Places) -> Labeled:
        table = load_table(name, **places)
        found = _read(table["smiles"], np.clip(table["clearance"].to_numpy(), *PLAUSIBLE))
        is_test = (table["random_split"] == "test").to_numpy()[found.rows]
        rest = np.random.default_rng(0).permutation(np.flatnonzero(~is_test))
        cut = len(rest) // 10
        split = Split(np.sort(rest[cut:]), np.sort(rest[:cut]), np.flatnonzero(is_test))
        told = (
            "PharmaBench's random label (80 % train), a tenth of it for validation, seed 0; the "
            "oracle that labels fragments knows the same training part"
        )
        return Labeled(found.graphs, split, told, (name,), f"{species}_measured")

    return read


def _drd2(places: Places) -> Labeled:
    names = ("drd2/excape_test", "drd2/excape_actives")
    labeled, actives = (load_table(name, **places) for name in names)
    active = set(actives["smiles"]) | set(labeled["smiles"][labeled["activity"] == 1])
    inactive = labeled["smiles"][labeled["activity"] == 0]
    inactive = inactive[~inactive.isin(active)].sample(3 * len(active), random_state=0)
    smiles = sorted(active) + sorted(inactive)
    y = np.repeat([1, 0], [len(active), len(inactive)])
    graphs = _read(smiles, y).graphs
    split = random_split(len(graphs), seed=0)
    told = (
        "all actives and three times as many inactives; random 85/5/10, seed 0; the oracle that "
        "labels fragments of training molecules was itself trained on some of the held-out ones"
    )
    return Labeled(graphs, split, told, names, "drd2")


ELEMENTS = ("C", "O", "Cl", "H", "N", "F", "Br", "S", "P", "I", "Na", "K", "Li", "Ca")
"""The node labels of Mutagenicity, in the order of its read-me."""


def _mutagenicity(places: Places) -> Labeled:
    source = load("Mutagenicity", **places)
    found = [(number, as_molecule(source, number)) for number in range(len(source))]
    known = [(number, molecule) for number, molecule in found if molecule is not None]
    y = 1 - source.labels[[number for number, _ in known]]  # there, 0 is a mutagen
    read = _read([molecule.smiles for _, molecule in known], y.numpy())
    # A salt or an ion was read as another molecule, whose atoms are not those that were marked.
    changed = {note.line - 1 for note in read.notes}
    truth = [
        torch.zeros(size, dtype=torch.bool) if row in changed else toxicophore(source, *known[row])
        for row, size in zip(read.rows.tolist(), read.graphs.sizes.tolist(), strict=True)
    ]
    graphs = replace(read.graphs, node_truth=torch.cat(truth))
    told = (
        "graphs as molecules, those that lack hydrogens left out; random 85/5/10, seed 0; node_auc "
        "on held-out mutagens with a marked toxicophore (NO2, NH2; PGExplainer's marks)"
    )
    split = random_split(len(graphs), seed=0)
    return Labeled(graphs, split, told, ("Mutagenicity",), None)


def as_molecule(graphs: PackedGraphs, number: int) -> Assembled | None:
    """A graph of Mutagenicity as a molecule."""
    data = graphs.to_data(number)
    elements = [ELEMENTS[code] for code in data.x[:, 0].tolist()]
    ends = zip(*data.edge_index.tolist(), data.edge_attr.tolist(), strict=True)
    return assemble(elements, [(a, b, order + 1) for a, b, order in ends if a < b])


def toxicophore(graphs: PackedGraphs, number: int, molecule: Assembled) -> Tensor:
    """The marked atoms of a graph, in the order of its molecule, ``bool [atoms]``."""
    data = graphs.to_data(number)
    marked = torch.zeros(data.num_nodes, dtype=torch.bool)
    marked[data.edge_index[:, data.edge_truth.bool()].reshape(-1)] = True
    return marked[list(molecule.atoms)]


KINDS: dict[str, Kind] = {
    "qed": Kind(
        "Drug-likeness (QED)",
        "none, in [0, 1]",
        "r_squared",
        _qed,
        epochs=20,
        most=14_000,
        fragments=1,
    ),
    **{
        species: Kind(
            f"Clearance by {SPECIES[species]} liver microsomes, measured",
            "log10 mL/min/g",
            "r_squared",
            _clearance(species),
            fragments=1,
            tells_known=True,
        )
        for species in SPECIES
    },
    "drd2": Kind(
        "Activity at the dopamine receptor D2",
        "class 1: active",
        "roc_auc",
        _drd2,
        epochs=20,
        fragments=1,
    ),
    "mutagenicity": Kind(
        "Mutagenicity in the Ames test", "class 1: mutagenic", "roc_auc", _mutagenicity
    ),
}


def train_models(
    name: str,
    out: Path,
    *,
    say: Say = lambda text: None,
    most: int | None = None,
    settings: dict[str, Any] | None = None,
    **places: Unpack[Places],
) -> list[Path]:
    """Trains one shipped model, or ``"all"``, and writes each into a folder of its name.

    What is in its folder already, also single members, is not trained again.

    Args:
        name: A name of :data:`KINDS`, or ``"all"``.
        out: The folder of folders.
        say: Told what is going on.
        most: Train and judge on so many molecules at most, in the place of all.
        settings: Over those of the model, such as ``epochs``.
        **places: The ``mirror`` and the ``cache`` of the catalog.
    """
    if name not in KINDS and name != "all":
        raise unknown_name("model", name, [*KINDS, "all"])
    ensure_writable(out)
    folders = [out / each for each in (KINDS if name == "all" else (name,))]
    for folder in folders:
        if (folder / CARD_FILE).is_file() and Card.read(folder).metrics:
            say(f"{folder.name}: there already")
        else:
            say(f"{folder.name}: reading")
            _train(folder, KINDS[folder.name], places, say, most, settings or {})
    return folders


def _train(
    folder: Path,
    kind: Kind,
    places: Places,
    say: Say,
    most: int | None,
    settings: dict[str, Any],
) -> None:
    data = kind.read(places)
    models = []
    for seed in range(MEMBERS):
        place = folder if seed == 0 else folder / MEMBERS_FOLDER / str(seed)
        if (place / CARD_FILE).is_file():
            models.append(SubgraphRecognizer.load(place, single=True))
            continue
        say(f"{folder.name}: member {seed + 1} of {MEMBERS}")
        models.append(_member(kind, data, seed, most or kind.most, settings))
        models[-1].card_.summary = kind.about
        # Not `save`, which would take away the further members that are there already.
        save_model(place, models[-1].network_, models[-1].card_)
    say(f"{folder.name}: judging")
    team = SubgraphRecognizer.together(models)
    team.calibrate(data.graphs[data.split.val])
    models[0].card_.metrics = _judged(models[0], team, kind, data, most)
    models[0].card_.write(folder)
    if kind.tells_known:
        Known.of(data.graphs[data.split.train], structures=False).save(folder)


def _member(
    kind: Kind, data: Labeled, seed: int, most: int | None, settings: dict[str, Any]
) -> SubgraphRecognizer:
    drawn = np.random.default_rng(seed).permutation(data.split.train)[:most]
    graphs = data.graphs[np.sort(drawn)]
    chosen = {} if kind.epochs is None else {"epochs": kind.epochs}
    model = SubgraphRecognizer(standard=STANDARD, seed=seed, **(chosen | settings))
    fragments = kind.fragments if data.oracle else 0
    model.fit(_completed(graphs, data.oracle, fragments, seed), val=data.graphs[data.split.val])
    model.card_.unit, model.card_.headline = kind.unit, kind.headline
    if fragments:  # a network that has seen fragments chooses better among them than its gate
        model.card_.keep_ratio, model.card_.by = 0.5, "prediction"
    licenses = dict.fromkeys(entry(source).license for source in data.sources)
    model.card_.license = "; ".join(licenses)
    model.card_.data |= {
        "sources": list(data.sources),
        "split": data.told,
        "molecules": len(graphs),
        "fragments": fragments * len(graphs),
        "fragments_labeled_by": data.oracle,
    }
    return model


def _completed(graphs: PackedGraphs, oracle: str | None, fragments: int, seed: int) -> PackedGraphs:
    """The molecules with fragments, where something can label them."""
    if oracle is None or not fragments:
        return graphs
    judge = registry.get(oracle)
    label: Label = (
        judge if graphs.labels.is_floating_point() else lambda smiles: judge(smiles) >= 0.5
    )
    return with_fragments(graphs, label, seed=seed, per_molecule=fragments)


def _judged(
    main: SubgraphRecognizer, team: SubgraphRecognizer, kind: Kind, data: Labeled, most: int | None
) -> dict[str, Any]:
    """Quality on held-out molecules: of the main model, of all members, of what they choose."""
    drawn = np.random.default_rng(0).permutation(data.split.test)[: most or 2000]
    test = data.graphs[np.sort(drawn)]
    found = main.evaluate(replace(test, node_truth=None))
    known = {scaffold(data.graphs.smiles[row]) for row in data.split.train}
    new = np.flatnonzero([scaffold(smiles) not in known for smiles in test.smiles])
    if len(new):
        on_new = main.evaluate(replace(test, node_truth=None)[new])
        found[f"{kind.headline}_new_scaffolds"] = on_new[kind.headline]
    found[f"{kind.headline}_all_members"] = _of_all(team, test).to_json()
    if test.node_truth is not None:
        found |= _explained(team, test)
    if data.oracle is not None:
        found |= _gaps(team, test[np.flatnonzero(test.sizes <= JUDGED_ATOMS)[:JUDGED]], data)
    return found


def _of_all(team: SubgraphRecognizer, test: PackedGraphs) -> Estimate:
    """The headline of the members' mean."""
    answer = team.answer(test)
    if answer.classes is None:
        return r_squared(answer.predictions, test.labels.numpy())
    return roc_auc(answer.mean, test.labels.numpy())


def _explained(team: SubgraphRecognizer, test: PackedGraphs) -> dict[str, Any]:
    """What users see by default, of all members, against the marked atoms of positive molecules.

    Beside each number stands that of a random connected part of the same size.
    """
    assert test.node_truth is not None
    graph = torch.arange(len(test)).repeat_interleave(test.sizes)
    has = torch.zeros(len(test), dtype=torch.bool)
    has[graph[test.node_truth]] = True
    marked = test[has & (test.labels == 1)]
    assert marked.node_truth is not None
    truth, ptr = marked.node_truth.numpy(), marked.node_ptr.numpy()
    answer = team.answer(marked)
    part = mask_of(answer.chosen(Selection()), ptr)
    sizes = np.maximum(1, np.add.reduceat(part, ptr[:-1]))
    chance = random_connected(marked, sizes, np.random.default_rng(0))
    found = {
        "node_auc_all_members": node_auc(answer.node_scores, truth, ptr),
        "kept_share_all_members": mean(_shares(part, np.ones_like(part), ptr)),
        "iou_all_members": mean(_shares(part & truth, part | truth, ptr)),
        "control_random_iou": mean(_shares(chance & truth, chance | truth, ptr)),
    }
    return {name: value.to_json() for name, value in found.items()}


def _shares(some: Any, of: Any, ptr: Any) -> Any:
    """The share of the second mask's nodes that the first one has, for each graph."""
    return np.add.reduceat(some, ptr[:-1]) / np.maximum(1, np.add.reduceat(of, ptr[:-1]))


def _gaps(team: SubgraphRecognizer, test: PackedGraphs, data: Labeled) -> dict[str, Any]:
    """What the predictor's choice at half size closes, by the main model and by all members."""
    assert data.oracle is not None
    atlas = atlas_of(registry.get(data.oracle), test.smiles)
    found: dict[str, Any] = {}
    answer = team.answer(test)
    for title, some in (("half", answer.member(0)), ("half_all_members", answer)):
        ranked = some.chosen(Selection(0.5, by="prediction"))
        gap = at_share(atlas, [nodes for nodes, *_ in ranked], 0.5)
        found |= {f"{name}_{title}": value for name, value in gap.told().items()}
    return found
