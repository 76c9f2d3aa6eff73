"""What a model does, recorded and drawn: traces, attention, curves, reports."""
