"""Table 1: how far the property of a recognized part is from that of its molecule."""
