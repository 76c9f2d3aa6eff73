"""Translates configurations and command lines of other toolkits into run files."""
