"""`openwork coach`: why a training does not learn, from checks of a run file's own model, data and tokenizers.

During a training, `training/symptoms.py` watches; `runs/probe.py` gives it figures of the model.
"""
