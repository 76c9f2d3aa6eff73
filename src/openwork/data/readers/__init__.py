"""Corpus formats: one file a format, each giving pairs in the order of the file."""
