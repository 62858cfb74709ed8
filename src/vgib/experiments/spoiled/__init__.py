"""Spoiled training data: what is left of a method when labels are wrong or graphs are few."""
