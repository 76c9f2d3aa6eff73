"""How updates are computed: compilation, working copies, divided batches, profiles."""
