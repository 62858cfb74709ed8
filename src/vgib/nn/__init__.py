"""Tensors in, tensors out: encoders, bottlenecks, the net. Importing it registers every bottleneck."""

from vgib.nn import attention, bottleneck, gib, gsat, vgib

__all__ = ["attention", "bottleneck", "gib", "gsat", "vgib"]
