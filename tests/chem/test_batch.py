from vgib.chem.batch import Reading, read


def test_what_cannot_be_read_is_refused_by_position():
    found = read(["CCO", "nonsense", "CC.O"], Reading())
    assert found.kept == [0, 2] and found.smiles == ["CCO", "CC"]
    assert [position for position, _ in found.refused] == [1]
    assert found.notes == [(2, "kept the largest of 2 components, CC")]
