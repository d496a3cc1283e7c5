"""Particles, free and constrained."""
