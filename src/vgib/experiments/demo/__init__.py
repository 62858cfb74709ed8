"""The demonstration behind ``vgib demo``: a small training and what the shipped models find."""
