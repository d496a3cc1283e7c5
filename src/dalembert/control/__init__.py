"""Optimal control: extremals of Pontryagin's principle between given ends, and whether they are minima."""
