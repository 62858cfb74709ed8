"""``python -m vgib``."""

from vgib.cli import main

main()
