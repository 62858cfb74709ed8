"""QED as an oracle."""

from vgib import oracles
from vgib.chem.properties import qed
from vgib.data.molecules import load_drugs


def test_it_is_rdkits() -> None:
    smiles = load_drugs()["smiles"].tolist()[:10]
    assert (oracles.get("qed")(smiles) == qed(smiles)).all()
