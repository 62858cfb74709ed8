"""The jobs on spoiled training data: what each name stands for."""

from vgib.experiments.engine.recipe import recipe
from vgib.experiments.spoiled.job import SpoiledJob


def test_each_way_to_spoil_the_data_stands_for_its_share() -> None:
    jobs = [job for job in recipe("spoiled").jobs() if isinstance(job, SpoiledJob)]
    shares = {job.spoiled: (job.flipped, job.left) for job in jobs}
    assert shares == {
        "wrong-20": (0.2, 1.0),
        "wrong-40": (0.4, 1.0),
        "few-10": (0.0, 0.1),
        "few-2": (0.0, 0.02),
    }


def test_the_control_differs_from_ours_in_its_price_alone() -> None:
    found = recipe("spoiled").jobs(
        subset={"spoiled": ["few-2"], "dataset": ["Mutagenicity"], "seed": [0]}
    )
    ours, control, _ = (job.model_dump() for job in found)
    assert {name for name in ours if ours[name] != control[name]} == {"method", "options"}
    assert control["options"] == {"beta": 0.0}
