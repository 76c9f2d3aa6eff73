"""Scores of translations and labels, their comparison, and baselines."""
