"""Gauss's problem in native code, and the one rank decision."""
