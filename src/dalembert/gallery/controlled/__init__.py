"""Mechanical systems with inputs and the laws that drive them."""
