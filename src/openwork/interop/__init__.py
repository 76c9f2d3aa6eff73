"""Trained models of other toolkits, read as ours and written from ours. Nothing of theirs is run, or unpickled."""
