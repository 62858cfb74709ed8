"""Tensors in, tensors out: encoders, bottlenecks, the net.

Importing the package registers every bottleneck under its name.
"""

from vgib.nn import attention, bottleneck, gib, gmt, gsat, paper_vgib, reference, vgib

__all__ = ["attention", "bottleneck", "gib", "gmt", "gsat", "paper_vgib", "reference", "vgib"]
