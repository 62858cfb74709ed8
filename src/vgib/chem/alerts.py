"""Structural alerts: published lists of groups that make chemists wary, as RDKit ships them."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

from rdkit.Chem import FilterCatalog as filters

from vgib.chem.mol import Mol, as_mol
from vgib.errors import unknown_name

AlertList = Literal["brenk", "pains", "nih"]
ALERT_LISTS: tuple[AlertList, ...] = get_args(AlertList)

REFERENCES: dict[AlertList, str] = {
    "brenk": "Brenk et al., ChemMedChem 3 (2008) 435: groups unwanted in screening libraries",
    "pains": "Baell and Holloway, J Med Chem 53 (2010) 2719: groups that disturb many assays",
    "nih": "Jadhav et al., J Med Chem 53 (2009) 37: problematic functional groups",
}
"""Where each list was published, and what it is about."""


@dataclass(frozen=True)
class Alert:
    """A group of a molecule that stands in a list of alerts.

    Attributes:
        source: The list: ``"brenk"``, ``"pains"`` or ``"nih"``.
        name: The list's own name of the group, with blanks for underscores.
        atoms: The atoms of the first place where the molecule has it, ascending.
    """

    source: AlertList
    name: str
    atoms: tuple[int, ...]


def structural_alerts(
    mol_or_smiles: Mol | str, lists: Collection[AlertList] = ALERT_LISTS
) -> list[Alert]:
    """The alerts of a molecule, list by list; the first place of each.

    >>> for alert in structural_alerts("O=[N+]([O-])c1ccccc1", ["brenk"]):
    ...     print(alert.name, alert.atoms)
    nitro group (0, 1, 2)
    Oxygen-nitrogen single bond (1, 2)

    Raises:
        UnknownNameError: there is no such list.
    """
    mol = as_mol(mol_or_smiles)
    return [
        Alert(source, entry.GetDescription().replace("_", " "), atoms)
        for source in lists
        for entry in _catalog(source).GetMatches(mol)
        for atoms in sorted({_atoms(match) for match in entry.GetFilterMatches(mol)})[:1]
    ]


def _atoms(match: Any) -> tuple[int, ...]:  # RDKit ships no types
    return tuple(sorted(pair.target for pair in match.atomPairs))


@cache
def _catalog(source: AlertList) -> Any:
    if source not in ALERT_LISTS:
        raise unknown_name("list of structural alerts", source, ALERT_LISTS)
    params = filters.FilterCatalogParams()
    params.AddCatalog(getattr(filters.FilterCatalogParams.FilterCatalogs, source.upper()))
    return filters.FilterCatalog(params)
