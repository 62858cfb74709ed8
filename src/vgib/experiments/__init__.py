"""One folder for each table or figure; the engine runs and reports them."""
