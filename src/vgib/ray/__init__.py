"""The same verbs on many machines, by Ray (``pip install 'vgib[ray]'``)."""
