"""The jobs of Figure 3: one method on a few molecules."""

from vgib.experiments.table1.job import InterpretationJob


class GalleryJob(InterpretationJob):
    """A few held-out molecules with the subgraph that is found in each (Figure 3)."""
