"""What can watch a training: each observer does one thing at the moments that `moments.py` lists."""
