"""Documents translated by a model: the way of their texts, the memory of translations, and what is not safe."""
