"""Searching settings: spaces, the samplers and storage of Optuna, and searches that go through single values."""
