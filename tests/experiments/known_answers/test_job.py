"""What a job of known answers is called, and what it is asked to do."""

from vgib.experiments.engine.recipe import recipe
from vgib.experiments.known_answers.job import KnownAnswersJob


def test_a_job_is_filed_by_life_set_and_method() -> None:
    made = recipe("known_answers").jobs(subset={"seed": 3, "method": "gsat", "life": "protocol"})
    assert [job.cell() for job in made] == ["protocol/Mutagenicity/gsat"]
    assert made[0].key().startswith("protocol/Mutagenicity/gsat/3-")


def test_rivals_are_told_what_their_authors_advise_for_each_set() -> None:
    jobs = recipe("known_answers").jobs(subset={"seed": 0, "method": "gsat", "life": "trained"})
    found = {}
    for job in jobs:
        assert isinstance(job, KnownAnswersJob) and job.authors
        found[job.dataset] = (job.attention_on, job.keep_rate, job.authors_lr)
    assert found["BA-2Motifs"] == ("edges", 0.5, 1e-3)
    assert found["attribution/benzene"] == ("nodes", 0.5, 1e-3)
    assert found["SPMotif-0.9"] == ("edges", 0.7, 3e-3)


def test_all_other_methods_share_one_network_and_one_training() -> None:
    jobs = [job for job in recipe("known_answers").jobs() if not job.model_dump()["authors"]]
    shared = ("hidden", "depth", "epochs", "steps", "batch_size", "lr")
    assert len({tuple(job.model_dump()[name] for name in shared) for job in jobs}) == 1
