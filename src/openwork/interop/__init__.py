"""Imports trained models of other toolkits and exports to them. Nothing of theirs is run, or unpickled."""
