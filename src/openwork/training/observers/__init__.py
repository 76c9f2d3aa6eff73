"""What can watch a training: each observer does one thing at the moments that `loop.py` lists."""
