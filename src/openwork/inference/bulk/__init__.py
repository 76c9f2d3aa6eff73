"""Bulk translation: a folder of shards (files) into a folder of the same files, each whole, once, and resumable."""
