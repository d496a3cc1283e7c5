"""Udwadia, Constrained motion of Hamiltonian systems."""
