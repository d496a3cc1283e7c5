"""Bloch and others, Internet Supplement to Nonholonomic Mechanics and Control."""
