"""Targets and pairs, read from a mirror."""

from pathlib import Path

import pytest
from tests.experiments.cliffs.toy import write_mirror

from vgib.errors import InputError, UnknownNameError
from vgib.experiments.cliffs.pairs import CliffPair, load_target


def test_a_target_has_its_molecules_and_the_pairs_that_count(tmp_path: Path) -> None:
    target = load_target("T_Ki", write_mirror(tmp_path))
    assert len(target.smiles) == 12 and target.is_test.sum() == 4 and target.is_cliff.sum() == 4
    assert target.activity[0] == 5.0
    # Neither the pair of training molecules nor the one without a differing atom.
    assert target.pairs == [
        CliffPair(("CCCCN", "CCCCO"), -2.0, ((4,), (4,)), (True, True)),
        CliffPair(("CCCCCO", "CN"), 2.0, ((3, 4, 5), ()), (True, False)),
    ]


def test_a_target_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'T_Ki'"):
        load_target("T_Kii", write_mirror(tmp_path))


def test_without_a_mirror_it_is_said_what_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VGIB_MIRROR", raising=False)
    for mirror in (None, tmp_path):
        with pytest.raises(InputError, match="give one by --mirror"):
            load_target("T_Ki", mirror)
