"""Derivatives along the steps of a run, forwards and backwards."""
