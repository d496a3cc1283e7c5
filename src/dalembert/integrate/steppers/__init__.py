"""Integrators, one method a file."""
