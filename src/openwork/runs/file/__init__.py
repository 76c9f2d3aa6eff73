"""The run file: its sections, openwork's own choices, and checks."""
