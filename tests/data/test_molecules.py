import gzip
import logging
import multiprocessing
import os
import re
import signal

import numpy as np
import pytest
import torch
from rdkit import Chem

from vgib.chem.batch import Reading
from vgib.chem.fragment import fragment
from vgib.chem.vocabulary import PAPER, RICH
from vgib.data import molecules
from vgib.data.molecules import from_smiles, load_drugs, read_molecules
from vgib.data.records import Record
from vgib.errors import FileFormatError, InputError, UnknownNameError


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        path = tmp_path / name
        raw = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return write_file


def sd_file(*entries):
    records = []
    for smiles, fields in entries:
        block = Chem.MolToMolBlock(Chem.AddHs(Chem.MolFromSmiles(smiles)))
        records.append(block + "".join(f">  <{k}>\n{v}\n\n" for k, v in fields.items()) + "$$$$\n")
    return "".join(records)


class TestSmiles:
    def test_graphs_have_codes_bonds_labels_and_smiles(self):
        found = from_smiles(["CCO", "c1ccccc1"], [1.5, -2.0])
        graphs = found.graphs
        assert len(found) == len(graphs) == 2 and graphs.sizes.tolist() == [3, 6]
        assert graphs.x.dtype == torch.uint8 and graphs.cardinalities == RICH.cardinalities
        assert graphs.y.tolist() == [1.5, -2.0] and graphs.y.dtype == torch.float32
        assert graphs.ids == ("CCO", "c1ccccc1")
        assert graphs.edge_attr.shape == graphs.col.shape
        assert found.rows.tolist() == [0, 1] and found.rejected == () and found.notes == ()

    def test_the_paper_describes_atoms_by_element_alone(self):
        graphs = from_smiles(["CCO"], features="element").graphs
        assert graphs.x.shape == (3, 1) and graphs.cardinalities == PAPER.cardinalities

    def test_whole_numbers_are_classes_and_a_table_keeps_its_columns(self):
        assert from_smiles(["C", "CC"], [0, 1]).graphs.y.dtype == torch.int64
        assert from_smiles(["C", "CC"], [[0.1, 0.2], [0.3, 0.4]]).graphs.y.shape == (2, 2)
        assert from_smiles(["C", "CC"], [[0.1], [0.3]]).graphs.y.shape == (2, 1)

    def test_booleans_are_classes(self):
        found = from_smiles(["CCO", "CCC"], [True, False])
        assert found.graphs.y.tolist() == [1, 0] and found.graphs.y.dtype == torch.int64

    def test_the_smiles_of_a_graph_lists_its_atoms_in_order(self):
        found = from_smiles(["[Na+].OC(=O)c1ccccc1N", "[H]OC", "CC(=O)[O-].C[NH3+]"])
        elements = RICH.columns[0].values
        for number, smiles in enumerate(found.graphs.ids):
            low, high = found.graphs.node_ptr[number : number + 2].tolist()
            symbols = [elements[code] for code in found.graphs.x[low:high, 0]]
            assert symbols == [a.GetSymbol() for a in Chem.MolFromSmiles(smiles).GetAtoms()]

    def test_bad_molecules_are_reported_by_number_and_reason(self, caplog):
        with caplog.at_level(logging.WARNING):
            found = from_smiles(["CCO", "oops", "", "CC", None], [1.0, 2.0, 3.0, 4.0, 5.0])
        assert [(item.line, item.text) for item in found.rejected] == [
            (2, "oops"),
            (3, ""),
            (5, "None"),
        ]
        assert found.rows.tolist() == [0, 3] and found.graphs.y.tolist() == [1.0, 4.0]
        assert "left out 3 lines; the first is line 2" in caplog.text

    def test_nan_and_infinite_labels_are_reported(self):
        found = from_smiles(["C", "CC", "CCC"], [float("nan"), float("inf"), 1.0])
        assert [item.line for item in found.rejected] == [1, 2]
        assert "'nan'" in found.rejected[0].reason and "not finite" in found.rejected[1].reason

    def test_salts_are_noted(self):
        found = from_smiles(["CC(=O)[O-].[Na+]", "C"])
        assert found.notes == ((1, "CC(=O)[O-].[Na+]", found.notes[0].message),)
        assert "largest of 2 components" in found.notes[0].message
        strict = from_smiles(["CC(=O)[O-].[Na+]", "C"], mixtures="error")
        assert strict.rejected[0].line == 1 and len(strict) == 1

    def test_kept_molecules_give_the_same_fragments_as_their_smiles(self):
        found = from_smiles(load_drugs()["smiles"], keep_mols=True)
        assert from_smiles(["C"]).mols is None
        for mol, smiles in zip(found.mols, found.graphs.ids, strict=True):
            atoms = range(mol.GetNumAtoms() // 2 + 1)
            assert fragment(mol, atoms) == fragment(smiles, atoms)

    def test_one_text_is_one_molecule(self):
        assert from_smiles("CCO").graphs.ids == ("CCO",)

    @pytest.mark.parametrize(
        ("smiles", "y", "message"),
        [
            ([], None, "none of the 0 molecules"),
            (["x", "y"], None, r"none of the 2 molecules can be used; line 1 \('x'\)"),
            (["C"], [1, 2], r"1 SMILES but y has shape \(2,\)"),
        ],
    )
    def test_unusable_input_is_an_error(self, smiles, y, message):
        with pytest.raises(InputError, match=message):
            from_smiles(smiles, y)

    def test_wrong_options_are_answered(self):
        with pytest.raises(UnknownNameError, match="did you mean 'element'"):
            from_smiles(["C"], features="elements")
        with pytest.raises(InputError, match="workers is 0"):
            from_smiles(["C"], workers=0)
        with pytest.raises(UnknownNameError, match="largest"):
            from_smiles(["C"], mixtures="biggest")


class TestSmiFiles:
    def test_lines_may_carry_more_fields(self, write):
        path = write("a.smi", "CCO ethanol 0.5\n\nCC\tethane\t0.25\r\n")
        found = read_molecules(path, target=2, id_column=1)
        assert found.graphs.y.tolist() == [0.5, 0.25] and found.names == ("ethanol", "ethane")
        assert found.rows.tolist() == [0, 1]

    def test_a_missing_field_is_reported_with_its_line(self, write):
        found = read_molecules(write("a.txt", "CCO 0.5\n\nCC\nC x\n"), target="1")
        assert [(item.line, item.text) for item in found.rejected] == [(3, "CC"), (4, "C")]
        assert "'x' in column '1' is not a number" in found.rejected[1].reason

    def test_a_header_line_names_the_columns(self, write):
        found = read_molecules(write("a.smi", "SMILES activity\nCCO 3\n"), target="activity")
        assert found.graphs.y.tolist() == [3.0] and len(found) == 1

    def test_a_name_where_there_is_no_header_is_explained(self, write):
        with pytest.raises(InputError, match="has no header"):
            read_molecules(write("a.smi", "CCO 3\n"), target="activity")

    def test_a_text_file_with_a_csv_header_is_read_as_csv(self, write):
        assert read_molecules(write("a.txt", "smiles,qed\nCCO,0.4\n"), target="qed").graphs.y == 0.4

    def test_lines_can_be_given_instead_of_a_path(self):
        assert read_molecules(iter(["CCO\n", "CC\n"])).graphs.ids == ("CCO", "CC")
        csv = iter(["smiles,y\n", "CCO,1\n"])
        assert read_molecules(csv, format="csv", target="y").graphs.y.tolist() == [1.0]


class TestCsvFiles:
    def test_the_smiles_column_is_found_by_name(self, write):
        path = write("a.csv", "name,Canonical_SMILES,value\nethanol,CCO,1\nethane,CC,0\n")
        found = read_molecules(path, target="value", target_kind="class", id_column="name")
        assert found.graphs.y.tolist() == [1, 0] and found.graphs.y.dtype == torch.int64
        assert found.names == ("ethanol", "ethane")

    def test_the_smiles_column_is_found_by_content(self, write):
        path = write("a.csv", "id,compound,value\nCHEMBL1,CCO,1\nCHEMBL2,c1ccccc1,0\n")
        assert read_molecules(path).graphs.ids == ("CCO", "c1ccccc1")

    def test_two_candidates_are_an_error_that_lists_them(self, write):
        path = write("a.csv", "canonical_smiles,isomeric_smiles\nCCO,CCO\n")
        with pytest.raises(InputError, match=r"several columns.*canonical_smiles.*isomeric_smiles"):
            read_molecules(path)
        assert len(read_molecules(path, smiles_column="isomeric_smiles")) == 1
        assert len(read_molecules(path, smiles_column=1)) == 1

    def test_a_column_of_which_only_half_are_molecules_is_none(self, write):
        with pytest.raises(InputError, match="no column holds SMILES"):
            read_molecules(write("a.csv", "a,b\nCCO,1\nnone,2\n"))
        assert len(read_molecules(write("b.csv", "a,b\nCCO,1\nnone,2\nCCN,3\n"))) == 2

    def test_no_candidate_is_an_error_that_lists_the_columns(self, write):
        with pytest.raises(InputError, match=r"no column holds SMILES.*'a', 'b'"):
            read_molecules(write("a.csv", "a,b\n1,2\n"))

    @pytest.mark.parametrize("asked", [None, 0])
    @pytest.mark.parametrize("second", ["CCC,0.7", "1,0.7"])
    def test_a_missing_header_is_recognized(self, write, asked, second):
        with pytest.raises(InputError, match="first line looks like data"):
            read_molecules(write("b.csv", f"CCO,0.5\n{second}\n"), smiles_column=asked)

    def test_an_unknown_column_is_answered_with_the_nearest_and_all(self, write):
        path = write("a.csv", "smiles,logP,qed\nCCO,1,0.5\n")
        with pytest.raises(
            InputError, match=r"no column 'logp'; did you mean 'logP'\?.*smiles, logP"
        ):
            read_molecules(path, target="logp")
        with pytest.raises(InputError, match=r"no column 'smile'; did you mean 'smiles'"):
            read_molecules(path, smiles_column="smile")

    def test_bad_rows_are_reported_by_line_with_the_header_counted(self, write):
        path = write("a.csv", 'smiles,y\nCCO,1\nbad,2\n\n"C",nan\nCC,\nCC,abc\n,4\nC,1,2\nCN,7\n')
        found = read_molecules(path, target="y")
        assert [item.line for item in found.rejected] == [3, 5, 6, 7, 8, 9]
        reasons = " | ".join(item.reason for item in found.rejected)
        for part in ("not finite", "no label in column 'y'", "'abc'", "empty", "3 cells"):
            assert part in reasons
        assert found.graphs.ids == ("CCO", "CN") and found.rows.tolist() == [0, 7]

    def test_a_class_must_be_a_whole_number(self, write):
        found = read_molecules(
            write("a.csv", "smiles,y\nC,1\nC,0.5\nC,-1\n"), target="y", target_kind="class"
        )
        assert [item.line for item in found.rejected] == [3, 4]

    def test_quoted_cells_may_hold_line_breaks_and_separators(self, write):
        path = write("a.csv", 'smiles,remark\nCCO,"one,\ntwo"\noops,x\n')
        found = read_molecules(path)
        assert len(found) == 1 and found.rejected[0].line == 4

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("a.tsv", "smiles\ty\nCCO\t1\n"),
            ("a.csv", "smiles;y\nCCO;1\n"),
            ("a.csv", "\ufeffsmiles,y\r\nCCO,1\r\n"),
            ("a.csv.gz", "smiles,y\nCCO,1\n"),
        ],
    )
    def test_separators_marks_and_compression_are_seen_through(self, write, name, content):
        assert read_molecules(write(name, content), target="y").graphs.y.tolist() == [1.0]

    def test_several_targets_make_a_table(self, write):
        path = write("a.csv", "smiles,a,b\nC,1,2\nCC,3,4\n")
        assert read_molecules(path, target=["a", "b"]).graphs.y.tolist() == [[1, 2], [3, 4]]


class TestSdFiles:
    def test_structures_and_fields_are_read(self, write):
        path = write("a.sdf", sd_file(("CCO", {"qed": "0.4"}), ("c1ccccc1", {"qed": "0.6"})))
        found = read_molecules(path, target="qed")
        assert found.graphs.ids == ("CCO", "c1ccccc1")
        np.testing.assert_allclose(found.graphs.y, [0.4, 0.6])

    def test_bad_records_are_reported_by_the_line_they_start_on(self, write):
        good = sd_file(("CCO", {"y": "1"}))
        lines = good.count("\n")
        text = good + sd_file(("CC", {"z": "1"})) + "broken\n$$$$\n" + good + good[:60]
        found = read_molecules(write("a.sdf.gz", text), target="y")
        assert len(found) == 2 and found.rows.tolist() == [0, 3]
        assert found.rejected[0].line == lines + 1
        assert "no label in column 'y'" in found.rejected[0].reason
        assert "no 'M  END'" in found.rejected[1].reason
        assert "no 'M  END'" in found.rejected[2].reason


class TestFiles:
    @pytest.mark.parametrize("name", ["a.smi", "a.csv", "a.sdf", "a.csv.gz"])
    def test_an_empty_file_is_an_error(self, write, name):
        with pytest.raises(InputError, match="the file is empty"):
            read_molecules(write(name, ""))

    def test_a_header_without_rows_is_an_error(self, write):
        with pytest.raises(InputError, match="none of the 0 molecules"):
            read_molecules(write("a.csv", "smiles,y\n"))

    def test_a_file_of_only_bad_smiles_names_the_first(self, write):
        with pytest.raises(
            InputError, match=r"none of the 2 molecules can be used; line 1 \('xx'\)"
        ):
            read_molecules(write("a.smi", "xx\nyy\n"))

    def test_a_duplicate_column_is_an_error(self, write):
        with pytest.raises(InputError, match="line 1: column 'y' comes twice"):
            read_molecules(write("a.csv", "smiles,y,y\nC,1,2\n"))

    def test_another_encoding_is_named_with_its_line(self, write):
        path = write("a.csv", "smiles,name\nC,a\nC,b\u00e4\n".encode("latin-1"))
        found = read_molecules(path)
        (refused,) = found.rejected
        assert len(found) == 1 and refused.line == 3
        assert re.search(r"not utf-8.*--encoding latin-1", refused.reason)
        with pytest.raises(FileFormatError, match=r"line 1: not utf-8.*encoding='latin-1'"):
            read_molecules(write("b.csv", "smiles,n\u00e4me\nC,a\n".encode("latin-1")))
        assert len(read_molecules(path, encoding="latin-1")) == 2

    def test_utf_16_is_recognized(self, write):
        with pytest.raises(FileFormatError, match="UTF-16"):
            read_molecules(write("a.csv", "smiles\nC\n".encode("utf-16")))

    def test_a_binary_file_is_recognized(self, write):
        with pytest.raises(FileFormatError, match="binary"):
            read_molecules(write("a.smi", b"PK\x03\x04\0\0\0"))

    def test_a_truncated_gzip_file_says_how_far_it_goes(self, tmp_path):
        path = tmp_path / "a.smi.gz"
        text = "\n".join(f"{'C' * (n % 90 + 1)}O{'N' * (n % 7)}" for n in range(5000))
        path.write_bytes(gzip.compress(text.encode())[:-900])
        with pytest.raises(FileFormatError, match=r"gzip file is damaged after line \d+"):
            read_molecules(path)

    def test_an_open_quote_costs_its_record(self, write):
        found = read_molecules(write("a.csv", 'smiles,y\nC,1\n"CC,2\nCN,3\n'))
        assert found.graphs.ids == ("C",)
        (refused,) = found.rejected
        assert refused.line == 3 and "check the quotes from here up to line 4" in refused.reason
        strict = read_molecules(write("b.csv", 'smiles,y\n"C"C,1\nCN,3\n'))
        assert strict.graphs.ids == ("CN",) and strict.rejected[0].line == 2

    @pytest.mark.parametrize("name", ["a.smi", "a.csv", "a.smi.gz"])
    def test_a_line_that_is_too_long_costs_itself(self, write, name):
        path = write(name, f"smiles\nCC\n{'C' * 2000}\nCO\n{'N' * 99}")
        found = read_molecules(path, max_record=100)
        assert found.graphs.ids == ("CC", "CO", "N" * 99)
        (refused,) = found.rejected
        assert refused.line == 3 and "longer than 100 bytes; raise the limit" in refused.reason
        assert "--max-record" in refused.reason

    def test_an_sd_record_that_is_too_long_costs_itself(self, write):
        long = "\n".join(["2" * 100] * 30)
        text = sd_file(("CCO", {"y": "1"}), ("CC", {"y": long}), ("CN", {"y": "3"}))
        found = read_molecules(write("a.sdf", text), max_record=2000)
        assert found.graphs.ids == ("CCO", "CN")
        assert "the record is longer than 2,000 bytes" in found.rejected[0].reason

    @pytest.mark.parametrize("first", ["C" * 101, "\n\n" + "C" * 101])
    def test_a_file_of_one_endless_line_says_which_limit(self, write, first):
        with pytest.raises(FileFormatError, match=r"line \d: the line is longer than 100 bytes"):
            read_molecules(write("a.smi", first), max_record=100)
        found = read_molecules(write("b.smi", f"{first}\nCCO"), max_record=100)
        assert found.graphs.ids == ("CCO",) and len(found.rejected) == 1

    def test_a_file_that_unpacks_to_too_much_is_refused_with_the_remedy(self, write):
        path = write("a.smi.gz", "CCO\n" + "\n" * 4_000_000 + "CCN\n")
        with pytest.raises(FileFormatError, match=r"more than 4,000,000 bytes.*--max-unpacked"):
            read_molecules(path)
        assert read_molecules(path, limit=1).graphs.ids == ("CCO",)
        assert len(read_molecules(path, max_unpacked=10**8)) == 2

    def test_a_missing_file_and_an_unknown_ending_are_explained(self, tmp_path, write):
        with pytest.raises(InputError, match=r"cannot read .*check the path"):
            read_molecules(tmp_path / "none.smi")
        with pytest.raises(InputError, match=r"no known ending; expected \.smi"):
            read_molecules(write("a.xls", "x"))
        with pytest.raises(UnknownNameError, match="did you mean 'csv'"):
            read_molecules(write("a.dat", "x"), format="cvs")


class TestStreaming:
    def test_chunks_put_together_are_the_whole(self, write, monkeypatch):
        drugs = load_drugs()["smiles"].tolist()
        lines = [s if n % 9 else "bad" for n, s in enumerate(drugs)]
        path = write("a.smi", "\n".join(lines))
        whole = read_molecules(path)
        monkeypatch.setattr(molecules, "CHUNK", 50)
        found = read_molecules(path)
        assert torch.equal(found.graphs.x, whole.graphs.x)
        assert found.graphs.ids == whole.graphs.ids
        assert found.rejected == whole.rejected
        assert found.rows.tolist() == whole.rows.tolist()

    def test_a_chunk_of_bad_lines_has_no_graphs_and_stops_nothing(self, monkeypatch):
        monkeypatch.setattr(molecules, "CHUNK", 1)
        found = read_molecules(["bad", "C"])
        assert found.graphs.ids == ("C",) and found.rows.tolist() == [1]

    def test_lines_are_taken_only_as_needed(self):
        def lines():
            for number in range(1000):
                assert number < 20, "the stream was read ahead"
                yield "C\n"

        assert len(read_molecules(lines(), limit=5)) == 5

    def test_the_number_of_workers_changes_nothing(self, write):
        path = write("a.smi", "\n".join([*load_drugs()["smiles"].tolist(), "bad", "C.CC"]))
        one, two = read_molecules(path, workers=1), read_molecules(path, workers=2)
        assert one.graphs.fingerprint() == two.graphs.fingerprint()
        assert one.rejected == two.rejected and one.notes == two.notes


def test_the_drugs_are_all_usable():
    drugs = load_drugs()
    assert list(drugs.columns) == ["name", "smiles", "chembl_id"] and len(drugs) == 217
    found = from_smiles(drugs["smiles"])
    assert len(found) == 217 and not found.notes


def test_what_was_read_shows_itself_in_one_line():
    assert repr(from_smiles(["C", "x"])) == "Molecules(1 graphs, 1 rejected, 0 notes)"


class Deadly(str):
    """A SMILES that ends the process which looks at it, unless that is the first one."""

    def __len__(self) -> int:
        if multiprocessing.parent_process() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("the program itself has read it")


@pytest.mark.timeout(900)  # a dozen processes, one after the other
def test_a_text_that_kills_processes_is_refused_and_the_others_are_read(forked: None) -> None:
    texts = ["CCO", "CCN", Deadly("CCC"), "C1CC", "CCF"]
    reader = molecules._RecordReader(Reading(), smiles="smiles", targets=[])
    records = [Record(line, {"smiles": text}) for line, text in enumerate(texts, 1)]
    found = list(reader.run(records, chunk_size=5, workers=2))
    (chunk,) = found
    assert chunk.graphs.sizes.tolist() == [3, 3, 3]
    assert [each.line for each in chunk.rejected] == [3, 4]
    assert "cannot survive this record: the worker was ended by SIGKILL" in chunk.rejected[0].reason
