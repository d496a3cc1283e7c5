"""Moreau and van der Schaft, Implicit Lagrangian equations."""
