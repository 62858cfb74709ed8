"""The settings of a job on activity cliffs."""

import subprocess
import sys

from vgib.experiments.cliffs.job import CliffsJob


def test_a_job_is_known_by_its_method_target_and_seed() -> None:
    job: CliffsJob = CliffsJob.of(method="forest", target="CHEMBL214_Ki", seed=2)
    assert job.cell() == "forest/CHEMBL214_Ki"
    assert job.key().startswith("forest/CHEMBL214_Ki/2-")


def test_settings_are_read_without_torch_and_scikit_learn() -> None:
    code = (
        "import sys, vgib.experiments.cliffs.job, vgib.experiments.cliffs.table; "
        "print(*({'torch', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
