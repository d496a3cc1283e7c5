"""Derivatives of motions: forward, adjoint, exponents, and parameters from data."""
