"""How time and memory of training and translating grow."""
