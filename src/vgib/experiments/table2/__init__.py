"""Table 2: how long training takes."""
