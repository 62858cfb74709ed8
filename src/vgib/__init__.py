"""Subgraph recognition with the variational graph information bottleneck, and its baselines."""

__version__ = "0.1.0"
