"""Translators as one graph of ONNX, the search in it."""
