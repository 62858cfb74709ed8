"""One file for each method that has no counterpart among the bottlenecks of :mod:`vgib.nn`."""
