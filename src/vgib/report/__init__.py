"""Records and results to pages, tables and pictures; never imports torch."""
