"""Marian's models: folders with an archive of weights (.npz), vocabularies and the settings of the search."""
