"""Models worth explaining: what ``vgib train`` makes of a measured file, beside its rivals."""
