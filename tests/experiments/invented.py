"""Records of jobs that nobody has run."""

from typing import Any

from vgib.experiments.engine.jobs import Job
from vgib.experiments.engine.records import FIELDS, Records


def file_record(
    records: Records, job: Job, result: dict[str, Any], seconds: dict[str, float] | None = None
) -> None:
    """Writes down what a job is said to have given."""
    told = {"key": job.key(), "job": job.model_dump(mode="json"), "result": result}
    records.append(job.cell(), {field: {} for field in FIELDS} | told | {"seconds": seconds or {}})
