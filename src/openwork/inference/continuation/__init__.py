"""Continuation of prompts as a server needs it: dialogues as prompts, many prompts in a batch, texts in parts."""
