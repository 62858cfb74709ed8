"""Table 3: how faithful explanations of trained networks of molecules are."""
