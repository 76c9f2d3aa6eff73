"""Experiments: searches, factors, the protocol of structure against tuning, and removed heads, each from one file."""
