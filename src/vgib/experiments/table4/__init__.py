"""Table 4: accuracy of graph classification with each bottleneck."""
