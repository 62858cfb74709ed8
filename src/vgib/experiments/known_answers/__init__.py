"""Known answers: how well the part that each method finds agrees with the part that is known."""
