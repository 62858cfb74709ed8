import logging

import numpy as np

from vgib.chem import batch
from vgib.chem.batch import Reading, read, read_chunks
from vgib.data.molecules import load_drugs

DRUGS = load_drugs()["smiles"].tolist()


def test_what_cannot_be_read_is_refused_by_position():
    found = read(["CCO", "nonsense", "CC.O"], Reading())
    assert found.kept == [0, 2] and found.smiles == ["CCO", "CC"]
    assert [position for position, _ in found.refused] == [1]
    assert found.notes == [(2, "kept the largest of 2 components, CC")]


def test_the_number_of_workers_changes_nothing_and_order_is_kept():
    chunks = [(number, DRUGS[number : number + 20]) for number in range(0, 200, 20)]
    alone = list(read_chunks(chunks, Reading()))
    together = list(read_chunks(chunks, Reading(), workers=2))
    assert [tag for tag, _ in together] == [tag for tag, _ in alone] == list(range(0, 200, 20))
    for (_, one), (_, two) in zip(alone, together, strict=True):
        assert one.smiles == two.smiles
        np.testing.assert_array_equal(one.arrays.codes, two.arrays.codes)
        np.testing.assert_array_equal(one.arrays.col, two.arrays.col)


def test_only_a_few_chunks_are_held_at_a_time():
    taken = []

    def chunks():
        for number in range(50):
            taken.append(number)
            yield number, ["C"]

    stream = read_chunks(chunks(), Reading(), workers=2)
    next(stream)
    assert len(taken) <= 6
    stream.close()


def test_workers_that_die_are_replaced_by_this_process(monkeypatch, caplog):
    def die(*_):
        raise batch.BrokenProcessPool

    monkeypatch.setattr(batch.ProcessPoolExecutor, "submit", die)
    with caplog.at_level(logging.WARNING):
        found = list(read_chunks([(0, ["CCO"]), (1, ["CC"])], Reading(), workers=2))
    assert [(tag, readings.smiles) for tag, readings in found] == [(0, ["CCO"]), (1, ["CC"])]
