"""Searches on tensors of fixed sizes: a step is a fixed series of operations on the same memory, and asks for nothing.

On a GPU a step of the other searches costs what launching its small operations and waiting for their results costs.
Here a step never waits: no shape depends on the data, no number is read, and whatever changes is written in place. So
it can be captured once as a CUDA graph and replayed as one launch. Only every few steps the driver asks whether all
sentences are done.

    search.start(limits)                               the limits of the batch; places without a sentence are done
    advance_until_done(search, search.advance, steps)  or a function that replays the captured `advance`
    search.results()                                   what the other searches give: tokens, scores and order
    search.found()                                     a function that makes them later, during the next batch

A beam has all its places from the first step on; those without a hypothesis have log-probability -inf. Sentences that
are done stay in their places, compute on, and are no longer read. The tokens of each step are stored with the rows that
they continue; hypotheses are put together from them at the end, on the CPU.

Where Triton runs, our own kernels choose the tokens (`nn/kernels/gpu/choice_kernels.py`); elsewhere, operations of the
framework whose results are those of the other searches, number for number.
"""
