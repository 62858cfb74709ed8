"""Any number of graphs: chunks in, files out, on one machine or on Ray."""
