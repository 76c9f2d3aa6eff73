"""`python -m openwork` is `openwork`."""

from openwork.cli.main import main

main()
