"""openwork: the Transformer of "Attention Is All You Need", complete and open to view."""

__version__ = "0.1.0"
