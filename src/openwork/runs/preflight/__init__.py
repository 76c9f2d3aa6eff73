"""What a training will need, and whether this machine has it, found out before the first update."""
