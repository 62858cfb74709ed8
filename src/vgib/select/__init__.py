"""Every decision about which nodes are chosen."""
