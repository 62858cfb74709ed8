"""A number for each molecule: QED, liver microsome clearance, DRD2 activity.

>>> from vgib import oracles
>>> oracles.get("qed")(["CC(=O)Oc1ccccc1C(=O)O", "no molecule"]).round(2)
array([0.55,  nan])
"""

from vgib.oracles.contract import Oracle, OracleCard, Quality
from vgib.oracles.registry import get, names

__all__ = ["Oracle", "OracleCard", "Quality", "get", "names"]
