"""From files that are no text to the rows of numbers that a model reads: pictures, cut into patches."""
