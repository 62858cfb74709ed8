"""An experiment: its recipe, job and table."""
