"""Recognition of many molecules: chunk by chunk, in constant memory, on any engine."""
