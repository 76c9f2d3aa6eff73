"""From a run file to a trained bundle."""
