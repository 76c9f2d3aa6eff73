"""Searches for the best target. They know no model: only start, step and select."""
