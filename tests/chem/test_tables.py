"""The tables of names and structures: every row says one thing, and RDKit can read it."""

import pytest
from rdkit import Chem

from vgib.chem.tables import table_rows, table_text


@pytest.mark.parametrize("name", ["rings.tsv", "counter_ions.tsv"])
def test_every_row_is_a_name_and_its_structure(name: str) -> None:
    rows = table_rows(name)
    assert len({called for called, _ in rows}) == len(rows) > 50
    assert all(Chem.MolFromSmiles(smiles) is not None for _, smiles in rows)


def test_every_row_of_the_groups_is_a_name_a_pattern_and_whether_it_may_be_cut() -> None:
    rows = table_rows("groups.tsv")
    assert all(Chem.MolFromSmarts(smarts) is not None for _, smarts, *_ in rows)
    assert {tuple(cut) for _, _, *cut in rows} == {(), ("cut",)}


def test_comments_are_left_out() -> None:
    assert "#" not in {line[:1] for line in table_text("groups.tsv").splitlines()}
