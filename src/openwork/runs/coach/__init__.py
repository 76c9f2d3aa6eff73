"""`openwork coach`: why a training does not learn, from checks of a run file's own model, data and tokenizers.

What watches a training while it runs is `training/observers/coaching.py`; `probe.py` gives it figures of its model.
"""
