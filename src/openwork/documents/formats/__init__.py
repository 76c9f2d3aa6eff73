"""The formats of documents: one file for each, or for a few of one kind."""
