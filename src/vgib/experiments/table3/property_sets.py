"""The molecules of Table 3: two balanced classes for each property (Sec. 5.2)."""

from typing import Unpack

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from vgib.chem.standardize import neutral_smiles
from vgib.chem.vocabulary import CHARGE, ELEMENT, HYDROGENS, RICH
from vgib.data import catalog
from vgib.data.molecules import from_smiles
from vgib.data.packed import PackedGraphs
from vgib.data.sources import Places
from vgib.data.splits import Split
from vgib.errors import unknown_name

PROPERTIES = ("qed", "hlm", "rlm", "drd2")
QED_BAR = 0.85
"""From here on a molecule counts as drug-like, as in the paper's list."""
DRAW_SEED = 20220
"""Of the draw of molecules; the same for all jobs, whose own seeds split them."""
VERSION = 1
"""Part of the name of packed files: to be raised when the same sources would give other sets."""


def property_set(name: str, per_class: int, **places: Unpack[Places]) -> PackedGraphs:
    """Molecules of a property, as many of each class; class 1 has the property.

    qed: QED of at least 0.85 or less; hlm, rlm: in the published list or not, all from ZINC250K.
    drd2: the published actives against the molecules that the pairs of Jin et al. (ICLR 2019) start
    from, which score low; both neutralized and without stereo marks, since the actives come from
    elsewhere and would be told by these alone. There are 3,000 of them at most.

    From the second time on the set is read from the cache folder.
    """
    if name not in PROPERTIES:
        raise unknown_name("property", name, PROPERTIES)
    folder = catalog.cache_folder(places.get("cache")) / "explanation"
    path = folder / f"{name}-{per_class}-v{VERSION}.safetensors"

    def drawn() -> PackedGraphs:
        positive, negative = _classes(name, places)
        random = np.random.default_rng(DRAW_SEED)
        parts = [
            random.permutation(np.array(sorted(smiles), dtype=object))[:per_class]
            for smiles in (negative, positive)
        ]
        count = min(map(len, parts))
        smiles = np.concatenate([part[:count] for part in parts]).tolist()
        return from_smiles(smiles, np.repeat([0, 1], count), workers=1).graphs

    return PackedGraphs.load_or_make(path, drawn, "the next job draws them again")


def _classes(name: str, places: Places) -> tuple[set[str], set[str]]:
    """The SMILES of those that have the property, and of those that have not."""

    def table(source: str) -> pd.DataFrame:
        return catalog.load_table(source, progress=False, **places)

    if name == "drd2":
        active = set(neutral_smiles(table("vgib/drd2")["smiles"].tolist()))
        start = table("drd2/train_pairs")["smiles"].drop_duplicates()
        # Far more than are needed; neutralizing all would take half a minute.
        some = start.sample(min(len(start), 2 * len(active)), random_state=DRAW_SEED)
        return active, set(neutral_smiles(some.tolist())) - active
    zinc = table("ZINC250K")
    if name == "qed":
        is_positive = zinc["qed"] >= QED_BAR
    else:
        is_positive = zinc["smiles"].isin(set(table(f"vgib/{name}")["smiles"]))
    return set(zinc["smiles"][is_positive]), set(zinc["smiles"][~is_positive])


def composition(graphs: PackedGraphs) -> npt.NDArray[np.int64]:
    """What each molecule is made of: elements, hydrogens, charge and size, ``[graphs, 17]``."""
    names = [column.name for column in RICH.columns]
    graph = torch.repeat_interleave(graphs.sizes)
    element = graphs.x[:, names.index(ELEMENT.name)].long()
    per_element = torch.zeros(len(graphs), len(ELEMENT.values), dtype=torch.int64)
    per_element.index_put_((graph, element), torch.ones_like(graph), accumulate=True)
    hydrogens = graphs.x[:, names.index(HYDROGENS.name)].long()
    charge = graphs.x[:, names.index(CHARGE.name)].long() - CHARGE.values.index("0")
    sums = torch.zeros(len(graphs), 2, dtype=torch.int64)
    sums.index_add_(0, graph, torch.stack([hydrogens, charge], dim=1))
    found = torch.cat([per_element, sums, graphs.sizes.unsqueeze(1)], dim=1)
    array: npt.NDArray[np.int64] = found.numpy()
    return array


def composition_accuracy(graphs: PackedGraphs, split: Split, *, seed: int = 0) -> float:
    """The accuracy of boosted trees that see only :func:`composition`, and no structure."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    table, y = composition(graphs), graphs.labels.numpy()
    trees = HistGradientBoostingClassifier(random_state=seed)
    trees.fit(table[split.train], y[split.train])
    return float(trees.score(table[split.test], y[split.test]))
