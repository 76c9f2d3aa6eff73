"""`make soak`: an hour of training and an hour of translating, and what the processes held of the machine meanwhile."""
