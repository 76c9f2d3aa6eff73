"""A model as the paper draws it: boxes in order, each with its weights, operations, formula and source lines."""
