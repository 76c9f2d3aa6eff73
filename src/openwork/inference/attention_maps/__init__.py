"""What each head of a translator attends to, for one sentence and its translation."""
