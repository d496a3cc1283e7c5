"""Optimal control: Pontryagin's equations, shooting, conjugate points; on groups without charts."""
