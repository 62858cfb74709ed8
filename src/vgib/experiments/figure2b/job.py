"""The jobs of Figure 2(b): noise in the found nodes and in others."""

from typing import Literal

from pydantic import Field

from vgib.experiments.table1.job import MoleculeJob


class NoiseJob(MoleculeJob):
    """Noise in the found subgraph against noise in as many other nodes (Figure 2b)."""

    keep: float = Field(0.5, gt=0, lt=1, description="The share of nodes that is the subgraph.")
    draws: int = Field(8, ge=1, description="How often noise is drawn for each molecule.")
    moments: Literal["graph", "population"] = Field(
        "graph", description="Whose mean and spread the noise has: each graph's own, or everyone's."
    )
