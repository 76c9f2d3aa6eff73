"""Traces, attention maps, curves and reports of a model."""
