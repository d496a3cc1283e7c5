"""Equilibria, steady and periodic motions, and their stability."""
