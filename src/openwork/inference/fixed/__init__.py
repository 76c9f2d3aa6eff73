"""Searches with a Transformer on a GPU: each step is one CUDA graph, replayed in buffers of fixed sizes.

    weights.py        the layers' weights in the type in which they compute
    transformer.py    buffers for a number of sentences, and the step in them
    sizes.py          the few sizes that buffers have, so that few graphs are captured
    replay.py         a step of a search, captured where the device can
    searches.py       the buffers that are kept, and the search of a batch in them
    overlapping.py    batches whose results are read while the device is at work on the next

On a CPU the same code runs without capturing: so it is tested, and there it is slower than a prepared model.
"""
