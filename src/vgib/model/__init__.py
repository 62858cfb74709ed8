"""What a model says of graphs."""
