"""Studying the paper: its objects by name, the documents' examples and interface, and measured claims."""
