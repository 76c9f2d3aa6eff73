"""`make bench`: openwork and its peers, in turn, on the same work."""
