"""Metrics that can be added: numerators and denominators, and tests of significance."""
