"""Pendulums, oscillators and circuits."""
