"""Training on many processes: a simulator that is checked against measured runs, and figures up to 1,024 devices."""
