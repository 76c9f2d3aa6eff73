"""Using a trained model: translate, label, complete, score, embed, explain."""
