"""The command line with its errors noted, as architecture/provoked.py tells: for tests that start it as a process."""

from architecture.provoked import note_all
from openwork.cli.main import main

if __name__ == "__main__":
    note_all()
    main()
