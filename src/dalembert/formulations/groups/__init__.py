"""Flows of matrices that root systems define: Toda lattices, rigid bodies on compact groups."""
