"""Training that starts from a trained bundle: fine-tuning and transfer."""
