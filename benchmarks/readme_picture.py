"""The picture of the README: what the demo's model attends to while it writes a date.

`make demo`, then `PYTHONPATH=src python benchmarks/readme_picture.py openwork-demo` writes docs/attention.svg.
"""

import sys
from pathlib import Path

from openwork.base.files import atomic_write_text
from openwork.bundles.bundle import load_bundle
from openwork.demo.demo import map_attention
from openwork.runs.usable import usable_bundle

TEXT = "Samstag, 14. März 2031"
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "attention.svg"

if __name__ == "__main__":
    bundle = load_bundle(usable_bundle(Path(sys.argv[1])))
    atomic_write_text(PICTURE, map_attention(bundle, TEXT).drawn(str) + "\n")
