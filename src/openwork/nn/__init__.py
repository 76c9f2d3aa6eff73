"""The mathematics: the parts of the paper, each a small module or function with its equation beside it."""
