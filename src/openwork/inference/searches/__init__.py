"""The search of one sentence, to be looked at."""
