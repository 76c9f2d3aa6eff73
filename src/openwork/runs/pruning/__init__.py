"""Smaller models from trained ones: fewer layers, heads, rows of feed-forward networks and pieces."""
