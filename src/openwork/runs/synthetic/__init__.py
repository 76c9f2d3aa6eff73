"""Training pairs that a model writes: a teacher's translations for a student, and back-translations."""
