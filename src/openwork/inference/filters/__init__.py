"""Lines in, lines out: one filter for each command that reads standard input."""
