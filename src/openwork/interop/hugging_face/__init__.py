"""Hugging Face: its folders of configuration, weights and tokenizers, read and written."""
