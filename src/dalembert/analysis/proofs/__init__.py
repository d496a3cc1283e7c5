"""Proofs by interval arithmetic and bounded symbolic work."""
