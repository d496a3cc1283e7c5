"""Gavin, Generalized Coordinates, Lagrange's Equations, and Constraints."""
