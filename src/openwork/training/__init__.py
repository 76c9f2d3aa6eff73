"""Training: loss, optimiser, one update, the loop that repeats it, and the observers that watch it."""
