"""Functions in C++, compiled for this processor where they are first needed; the headers here are for all of them."""
