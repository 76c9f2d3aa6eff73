"""Kernels for CPUs in C++, compiled where there is a compiler; each is held equal to a formula."""
