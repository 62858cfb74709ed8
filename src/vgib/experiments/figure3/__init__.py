"""Figure 3: the subgraphs that several methods find in the same molecules, side by side."""
