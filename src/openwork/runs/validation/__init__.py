"""Validation of a run by the task of its model: loss, scores, samples."""
