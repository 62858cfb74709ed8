"""Figure 4: fidelity against the share of atoms that is kept, drawn from the records of Table 3."""
