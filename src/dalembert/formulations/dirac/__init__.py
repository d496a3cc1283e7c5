"""Hamiltonian systems on Dirac structures, degenerate Lagrangians, and networks of elements."""
