"""The run file: its sections, what openwork chooses by itself, and checks of what a person wrote."""
