"""Where data, models and measures meet: a job's configuration in, a record out."""
