"""Recipes become jobs: every combination, in order, with refusals that help."""

from pathlib import Path

import pytest

from vgib.errors import FileFormatError, InputError, UnknownNameError
from vgib.experiments.engine.folders import names
from vgib.experiments.engine.recipe import recipe
from vgib.experiments.table4.job import ClassificationJob


def test_the_recipes_are_listed() -> None:
    assert {"table1", "table4"} <= set(names())


@pytest.mark.parametrize("name", names())
def test_every_recipe_makes_jobs_of_different_keys(name: str) -> None:
    jobs = recipe(name).jobs()
    assert jobs
    assert len({job.key() for job in jobs}) == len(jobs)


def test_table4_is_the_grid_of_the_paper_and_more() -> None:
    jobs = recipe("table4").jobs()
    assert len(jobs) == 6 * 2 * (3 * 7 + 9) * 10  # GIN alone has the two rows of `vgib`
    of_the_paper = {
        job.cell() for job in jobs if job.cell().split("/")[-1] in ["none", "gib", "vgib-paper"]
    }
    assert len(of_the_paper) == 144


def test_table4_follows_the_protocol() -> None:
    for job in recipe("table4").jobs():
        assert isinstance(job, ClassificationJob)
        assert (job.epochs, job.batch_size, job.lr, job.halve_at) == (100, 128, 0.01, 50)
        assert (job.folds, job.fold_seed) == (10, 12345)
        assert (job.hidden, job.depth, job.dropout) == (16, 2, 0.5)
        if job.bottleneck == "vgib-paper":
            assert job.options["predict_from"] == "subgraph"
        if job.bottleneck == "gib":  # as its authors run it: the soft sum, the outer level's rate
            assert "predict_from" not in job.options and job.inner_lr == job.lr


def test_a_value_that_is_like_another_says_only_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        """summary = "Two rows."
job = "table4"
[grid]
dataset = ["MUTAG"]
readout = ["sum"]
encoder = ["gcn"]
bottleneck = ["a", "b"]
fold = [0]
[values.bottleneck.a]
module = "gib"
lr = 0.5
options = { beta = 0.1, scale = 0.7 }
[values.bottleneck.b]
like = "a"
options = { beta = 0.2 }
"""
    )
    first, second = (job.model_dump() for job in recipe(path).jobs())
    assert first["options"] == {"beta": 0.1, "scale": 0.7}
    assert second["options"] == {"beta": 0.2, "scale": 0.7}
    assert (second["module"], second["lr"]) == ("gib", 0.5)


def test_cheap_datasets_come_first() -> None:
    datasets = [job.model_dump()["dataset"] for job in recipe("table4").jobs()]
    assert datasets[0] == "MUTAG" and datasets[-1] == "COLLAB"


def test_overrides_change_settings_and_axes() -> None:
    jobs = recipe("table4").jobs({"epochs": 2, "dataset": "BA-2Motifs", "folds": 3})
    assert {job.model_dump()["epochs"] for job in jobs} == {2}
    assert {job.model_dump()["dataset"] for job in jobs} == {"BA-2Motifs"}
    assert {job.model_dump()["fold"] for job in jobs} == {0, 1, 2}


def test_a_subset_keeps_the_order_and_the_keys() -> None:
    everything = [job.key() for job in recipe("table4").jobs()]
    some = [
        job.key()
        for job in recipe("table4").jobs(
            subset={"dataset": ["DD", "MUTAG"], "bottleneck": "vgib-paper", "fold": [0, 3]}
        )
    ]
    assert len(some) == 2 * 2 * 4 * 2
    assert some == [key for key in everything if key in set(some)]


def test_other_settings_have_other_keys_and_defaults_have_none() -> None:
    made = recipe("table4")
    subset = {"dataset": "MUTAG", "encoder": "gcn", "readout": "sum", "fold": 0}
    first = made.jobs(subset=subset)[0]
    assert made.jobs({"epochs": 100}, subset)[0].key() == first.key()
    assert made.jobs({"epochs": 99}, subset)[0].key() != first.key()
    assert first.cell() == "MUTAG/sum/gcn/none"


@pytest.mark.parametrize(
    ("overrides", "subset", "message"),
    [
        ({"epoch": 3}, {}, "no setting of table4 named 'epoch'; did you mean 'epochs'"),
        ({}, {"datasets": "DD"}, "no axis of table4 named 'datasets'; did you mean 'dataset'"),
        ({}, {"dataset": "MUTAGG"}, "no dataset in table4 named 'MUTAGG'; did you mean 'MUTAG'"),
        ({"bottleneck": "gibb"}, {}, "no bottleneck in table4 named 'gibb'; did you mean 'gib'"),
    ],
)
def test_unknown_names_are_answered_with_a_suggestion(
    overrides: dict[str, object], subset: dict[str, object], message: str
) -> None:
    with pytest.raises(UnknownNameError, match=message):
        recipe("table4").jobs(overrides, subset)


def test_a_wrong_value_is_refused() -> None:
    with pytest.raises(InputError, match="epochs=0"):
        recipe("table4").jobs({"epochs": 0})


def test_an_unknown_recipe_is_answered_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'table4'"):
        recipe("tabel4")


def test_a_recipe_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'summary = "Mine."\njob = "table4"\n'
        '[grid]\ndataset = ["MUTAG"]\nreadout = ["sum"]\nencoder = ["gcn"]\nbottleneck = ["none"]\n'
        '[values.bottleneck.none]\nmodule = "none"\n'
    )
    assert recipe(path).name == "mine"
    assert len(recipe(path).jobs()) == 10
    path.write_text("summary =")
    with pytest.raises(FileFormatError, match="is not a recipe"):
        recipe(path)
    path.write_text('summary = ""\njob = "dancing"\n[grid]\n')
    with pytest.raises(UnknownNameError, match="no experiment with jobs named 'dancing'"):
        recipe(path)
    with pytest.raises(InputError, match="there is no file"):
        recipe(tmp_path / "other.toml")


def test_the_cost_is_that_of_dataset_and_row() -> None:
    made = recipe("table4")
    (job,) = made.jobs(
        subset={"dataset": "DD", "bottleneck": "gib", "encoder": "gcn", "readout": "sum", "fold": 0}
    )
    assert made.cost_of(job) == made.cost["DD"]["gib"]
    (other,) = made.jobs(
        {"dataset": "BA-2Motifs"},
        {"bottleneck": "gib", "encoder": "gcn", "readout": "sum", "fold": 0},
    )
    assert made.cost_of(other) == 1.0


def test_what_a_row_stands_for_goes_before_what_all_share_and_a_user_before_both() -> None:
    rows = {"method": ["att05", "gib"], "seed": 0}
    epochs = {job.cell(): job.model_dump()["epochs"] for job in recipe("table2").jobs(subset=rows)}
    assert epochs == {"list/qed/att05": 2, "list/qed/gib": 3}
    given = recipe("table2").jobs({"epochs": 1}, rows)
    assert {job.model_dump()["epochs"] for job in given} == {1}


def test_table1_has_its_rows_in_every_version() -> None:
    jobs = [job.model_dump() for job in recipe("table1").jobs()]
    assert {(job["version"], job["property"]) for job in jobs} == {
        (version, name)
        for version in ("list", "full", "scaffold")
        for name in ("qed", "hlm", "mlm", "rlm")
    }
    assert {job["seed"] for job in jobs} == {0, 1, 2}
    assert {job["tested"] for job in jobs} == {300}
