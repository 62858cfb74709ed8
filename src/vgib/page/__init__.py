"""Results as HTML, for reports, notebooks and the service."""
