"""The jobs of Table 2 and Figure 1: a training that is timed, or followed step by step."""

from typing import ClassVar

from pydantic import Field

from vgib.experiments.table1.job import MoleculeJob


class DynamicsJob(MoleculeJob):
    """How training goes, step by step, and how long it takes (Table 2, Figure 1)."""

    headline: ClassVar[str] = "steps"

    every: int = Field(0, ge=0, description="Record every so many steps; 0: only the time.")
