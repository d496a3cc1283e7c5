"""Simplification of expressions for people to read: quotients of polynomials, sines and cosines."""
