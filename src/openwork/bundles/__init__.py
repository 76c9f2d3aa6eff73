"""A trained system as a folder: reading, writing, versions."""
