"""QED: computed, not learned."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vgib.chem.properties import qed
from vgib.oracles.contract import Oracle, OracleCard

CARD = OracleCard(
    name="qed",
    about="quantitative estimate of drug-likeness",
    unit="none, in [0, 1]",
    method="RDKit's QED with its default weights (Bickerton et al., Nature Chemistry 2012)",
    data={},
    split="nothing is learned",
    quality={},
    trivial="none: the value is exact by definition",
    domain="any molecule that RDKit reads; made for small oral drugs",
    license="BSD-3-Clause (RDKit)",
    command="",
)


class Qed(Oracle):
    """Drug-likeness as RDKit computes it."""

    def __init__(self) -> None:
        super().__init__(CARD)

    def judge(self, smiles: Sequence[str]) -> npt.NDArray[np.float64]:
        return qed(smiles)
