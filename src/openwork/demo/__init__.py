"""The embedded main job: a Transformer that learns to read dates."""
