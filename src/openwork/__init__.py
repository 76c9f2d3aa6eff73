"""openwork: the Transformer of "Attention Is All You Need", complete and open to view."""

import os

__version__ = "0.1.0"

# On a CPU torch's libraries keep what they prepared for each shape of a matrix product, a thousand of each kind by
# themselves. Sentences make a new shape in almost every batch, so a training grew by gigabytes (3.4 GB in its first
# twenty minutes, benchmarks/soak); within an update some dozen shapes come again, and those are kept. The libraries
# read these when they begin, hence here, before torch is loaded; whoever sets them has them as set.
for _name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
    os.environ.setdefault(_name, "64")
