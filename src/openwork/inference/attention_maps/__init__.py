"""The attention of a sentence and its translation: all weights, what they add up to, and what explains the output."""
