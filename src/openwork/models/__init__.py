"""Whole models, made of the parts in `nn`, behind one interface: start, step, select."""
