"""Carrying out trials: their data and budgets, trainings, removed heads, and the workers that share them."""
