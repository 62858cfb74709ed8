"""Counter-ions and solvents: what a drug is shipped with, and what no one means to ask about."""

from functools import cache
from typing import Any

from rdkit.Chem.MolStandardize import rdMolStandardize

_COUNTER_IONS = """
adipate	OC(=O)CCCCC(=O)O
aspartate	NC(CC(=O)O)C(=O)O
benzoate	OC(=O)c1ccccc1
besylate	OS(=O)(=O)c1ccccc1
camsylate	CC1(C)C2CCC1(CS(=O)(=O)O)C(=O)C2
citrate	OC(=O)CC(O)(CC(=O)O)C(=O)O
cyclamate	OS(=O)(=O)NC1CCCCC1
dibenzoyl tartrate	OC(=O)C(OC(=O)c1ccccc1)C(OC(=O)c1ccccc1)C(=O)O
di-p-toluoyl tartrate	Cc1ccc(cc1)C(=O)OC(C(=O)O)C(OC(=O)c1ccc(C)cc1)C(=O)O
docusate	CCCCC(CC)COC(=O)CC(C(=O)OCC(CC)CCCC)S(=O)(=O)O
edisylate	OS(=O)(=O)CCS(=O)(=O)O
esylate	CCS(=O)(=O)O
fumarate, maleate	OC(=O)C=CC(=O)O
gentisate	OC(=O)c1cc(O)ccc1O
glucoheptonate	OCC(O)C(O)C(O)C(O)C(O)C(=O)O
gluconate	OCC(O)C(O)C(O)C(O)C(=O)O
glucuronate	OC1OC(C(=O)O)C(O)C(O)C1O
glutamate	NC(CCC(=O)O)C(=O)O
glutarate	OC(=O)CCCC(=O)O
glycolate	OCC(=O)O
hippurate	OC(=O)CNC(=O)c1ccccc1
hybenzate	OC(=O)c1ccccc1C(=O)c1ccc(O)cc1
isethionate	OCCS(=O)(=O)O
lactate	CC(O)C(=O)O
lactobionate	OCC1OC(OC(C(O)CO)C(O)C(O)C(=O)O)C(O)C(O)C1O
laurate	CCCCCCCCCCCC(=O)O
lauryl sulfate	CCCCCCCCCCCCOS(=O)(=O)O
malate	OC(=O)CC(O)C(=O)O
malonate	OC(=O)CC(=O)O
mandelate	OC(=O)C(O)c1ccccc1
methyl sulfate	COS(=O)(=O)O
mucate	OC(=O)C(O)C(O)C(O)C(O)C(=O)O
napadisylate	OS(=O)(=O)c1cccc2c(S(=O)(=O)O)cccc12
napsylate, 2-	OS(=O)(=O)c1ccc2ccccc2c1
napsylate, 1-	OS(=O)(=O)c1cccc2ccccc12
oleate	CCCCCCCCC=CCCCCCCCC(=O)O
oxalate	OC(=O)C(=O)O
palmitate	CCCCCCCCCCCCCCCC(=O)O
pamoate	OC(=O)c1cc2ccccc2c(Cc2c(O)c(C(=O)O)cc3ccccc23)c1O
picrate	Oc1c([N+](=O)[O-])cc([N+](=O)[O-])cc1[N+](=O)[O-]
propionate	CCC(=O)O
saccharinate	O=C1NS(=O)(=O)c2ccccc12
sebacate	OC(=O)CCCCCCCCC(=O)O
stearate	CCCCCCCCCCCCCCCCCC(=O)O
succinate	OC(=O)CCC(=O)O
tartrate	OC(=O)C(O)C(O)C(=O)O
tetraphenylborate	c1ccccc1[B-](c1ccccc1)(c1ccccc1)c1ccccc1
tosylate	Cc1ccc(S(=O)(=O)O)cc1
triflimide	FC(F)(F)S(=O)(=O)NS(=O)(=O)C(F)(F)F
xinafoate	OC(=O)c1ccc2ccccc2c1O
arginine	NC(=N)NCCCC(N)C(=O)O
benzathine	c1ccccc1CNCCNCc1ccccc1
choline	C[N+](C)(C)CCO
dicyclohexylamine	C1CCCCC1NC1CCCCC1
diethylamine	CCNCC
diethanolamine	OCCNCCO
ethanolamine	NCCO
ethylenediamine	NCCN
lysine	NCCCCC(N)C(=O)O
meglumine	CNCC(O)C(O)C(O)C(O)CO
tetrabutylammonium	CCCC[N+](CCCC)(CCCC)CCCC
triethanolamine	OCCN(CCO)CCO
triethylamine	CCN(CC)CC
tromethamine	NC(CO)(CO)CO
"""
"""Acids, then bases, each with its SMILES, which fits it with and without its protons.

They are those that RDKit's own list of counter-ions and solvents leaves out. Acids and bases that
are drugs as often as they are counter-ions (salicylate, nicotinate, piperazine, procaine) are not
here: of those the larger component is meant.
"""


def without_counter_ions(mixture: Any) -> Any:  # RDKit ships no types
    """A mixture without counter-ions and solvents, or unchanged if nothing organic would be left.

    >>> from rdkit import Chem
    >>> salt = Chem.MolFromSmiles("CCCN.OC(=O)CC(O)(CC(=O)O)C(=O)O")
    >>> Chem.MolToSmiles(without_counter_ions(salt))
    'CCCN'
    """
    kept = mixture
    for remover in _removers():
        kept = remover.remove(kept)
    is_organic = any(atom.GetAtomicNum() == 6 for atom in kept.GetAtoms())
    return kept if is_organic else mixture


@cache
def _removers() -> tuple[rdMolStandardize.FragmentRemover, ...]:
    """RDKit's list first, so that of a counter-ion and a solvent the counter-ion stays.

    A list that would leave nothing removes nothing: a counter-ion alone is still read.
    """
    common = rdMolStandardize.FragmentRemover("", leave_last=True, skip_if_all_match=True)
    more = rdMolStandardize.FragmentRemoverFromData(
        _COUNTER_IONS.lstrip(), leave_last=True, skip_if_all_match=True
    )
    return common, more
