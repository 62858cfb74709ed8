"""``python -m vgib``."""

from vgib.cli.app import main

main()
