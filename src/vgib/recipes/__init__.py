"""The experiments: one TOML file for each table or figure, and how it becomes jobs."""
