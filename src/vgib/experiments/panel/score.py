"""How many expected parts of the panel the shipped models find; see docs/panel.md."""

from dataclasses import dataclass

import numpy as np

from vgib.chem.fragment import fragment
from vgib.experiments.panel.expected import Expected, PanelGroup, read_panel
from vgib.model.recognizer import SubgraphRecognizer
from vgib.select.policy import ANY, Nodes

MODELS: dict[PanelGroup, str] = {"mutagen": "mutagenicity", "d2": "drd2", "soft spot": "hlm"}
BARS: dict[PanelGroup, int] = {"mutagen": 25, "d2": 12, "soft spot": 8}
"""The hits that would be good."""

DRAWS = 200
"""Random parts of the same size, for each molecule with a part."""


@dataclass(frozen=True)
class PanelAnswer:
    """What was found in one molecule of the panel.

    Attributes:
        entry: The molecule and its expected part.
        statement: What the model predicts.
        part: The atoms of the found part; ``None`` for "no part found".
        smiles: The fragment.
        why_none: Why no part suffices, where none does.
        is_hit: Whether the part holds the expected one.
        kept: The part's share of the atoms.
        is_alike: Whether the model predicts the same for the part as a molecule of its own: the
            same class, or a value within the tolerance.
        chance: The share of random parts of the same size that would be a hit.
    """

    entry: Expected
    statement: str
    part: Nodes | None
    smiles: str
    why_none: str | None
    is_hit: bool
    kept: float
    is_alike: bool
    chance: float


def judge_panel(group: PanelGroup, *, further: bool = False) -> list[PanelAnswer]:
    """The default answer for every molecule of a group, beside its size-matched control."""
    model = SubgraphRecognizer.load(MODELS[group])
    entries = [entry for entry in read_panel(further=further) if entry.group == group]
    answer = model.answer([entry.smiles for entry in entries])
    found, why_none = answer.explained(ANY)
    own = ANY.for_graphs(molecules=True)
    rng, bounds = np.random.default_rng(0), answer.graphs.node_ptr.tolist()
    sizes = np.array([len(parts[0].nodes) if parts else 1 for parts in found])
    random = own.control(answer.graphs, np.tile(sizes, (DRAWS, 1)), rng, answer.parts.blocks)
    judged = []
    for number, (entry, parts, why) in enumerate(zip(entries, found, why_none, strict=True)):
        nodes = parts[0].nodes if parts else None
        drawn = random[:, bounds[number] : bounds[number + 1]]
        hits = [entry.lies_inside(np.flatnonzero(row).tolist()) for row in drawn] if nodes else [0]
        judged.append(
            PanelAnswer(
                entry,
                answer.statements[number],
                nodes,
                parts[0].smiles or "" if parts else "",
                why,
                entry.lies_inside(nodes),
                parts[0].keep_ratio if parts else float("nan"),
                nodes is not None and _is_alike(model, entry.smiles, nodes),
                float(np.mean(hits)),
            )
        )
    return judged


def _is_alike(model: SubgraphRecognizer, smiles: str, nodes: Nodes) -> bool:
    whole, part = model.answer([smiles]), model.answer([fragment(smiles, nodes).capped_smiles])
    if whole.classes is not None:
        return bool(whole.predictions[0] == part.predictions[0])
    return bool(abs(whole.predictions[0] - part.predictions[0]) <= whole.tolerance[0])


def summary(group: PanelGroup, judged: list[PanelAnswer]) -> dict[str, float | int | str]:
    """One line of the table on the page."""
    parts = [one for one in judged if one.part is not None]
    enough = [one for one in parts if one.why_none is None]
    return {
        "group": group,
        "model": MODELS[group],
        "molecules": len(judged),
        "hits": sum(one.is_hit for one in judged),
        "bar": BARS[group],
        "parts found": len(parts),
        "said to suffice": len(enough),
        "hits by chance": round(sum(one.chance for one in judged), 1),
        "kept share": round(float(np.mean([one.kept for one in parts])), 2),
        "predicted alike": round(float(np.mean([one.is_alike for one in parts])), 2),
    }
