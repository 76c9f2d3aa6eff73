"""Data: aligned sentences in, numbered batches out.

Readers give pairs of sentences, filters drop and count, the store keeps tokens on disk, batching plans epochs. Nothing
here imports torch.
"""
