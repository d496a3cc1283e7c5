"""Implementations in NumPy that share nothing with the library."""
