"""Reduction by symmetry: equations on the quotient, gaits, Routh's reduction."""
