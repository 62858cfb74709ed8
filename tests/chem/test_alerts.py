"""Structural alerts, named and placed."""

import pytest

from vgib.chem.alerts import ALERT_LISTS, REFERENCES, Alert, structural_alerts
from vgib.errors import UnknownNameError


def test_an_alert_has_its_list_its_name_and_its_atoms() -> None:
    assert structural_alerts("CCc1ccc([N+](=O)[O-])cc1", ["brenk"]) == [
        Alert("brenk", "nitro group", (6, 7, 8)),
        Alert("brenk", "Oxygen-nitrogen single bond", (6, 8)),
    ]


def test_all_lists_are_asked_by_default() -> None:
    found = structural_alerts("Oc1ccc(N=Nc2ccccc2)cc1")
    assert {alert.source for alert in found} == set(ALERT_LISTS)
    assert any("azo" in alert.name for alert in found if alert.source == "pains")


def test_harmless_molecules_have_no_alert() -> None:
    assert structural_alerts("CCO") == structural_alerts("CC(=O)NCc1ccccc1") == []


def test_each_alert_stands_once_however_often_the_group_occurs() -> None:
    found = structural_alerts("O=[N+]([O-])c1ccc([N+](=O)[O-])cc1")
    assert len({(alert.source, alert.name) for alert in found}) == len(found)


def test_every_list_is_cited() -> None:
    assert set(REFERENCES) == set(ALERT_LISTS)


def test_an_unknown_list_is_named() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'brenk'"):
        structural_alerts("CCO", ["brenck"])  # type: ignore[list-item]
