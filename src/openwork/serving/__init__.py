"""A server that translates and continues texts: requests come by HTTP, processes that share weights answer them.

The process that speaks HTTP loads no torch. Another one loads the bundles and is copied once for each core, so that
weights are in memory once; the copies connect to the first and answer one batch at a time.
"""
