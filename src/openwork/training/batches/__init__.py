"""Batches as tensors: padded, packed or masked, moved to the device ahead of time."""
