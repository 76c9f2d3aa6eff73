"""The bundles of earlier releases that are kept in the tests: see `test_bundle_versions.py`."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "samples"
NEWEST = FOLDER / "version-1"
