"""What a model costs: weights, operations, memory, and sizes for a budget."""
