"""Corpora known by name: where they come from, how they are split, what they hold."""
