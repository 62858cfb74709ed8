"""Recipes, jobs, records and tables: what all experiments share."""
