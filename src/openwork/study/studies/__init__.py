"""Claims about architectures, measured: each study computes with parts of `nn` and says what to see in its figures."""
