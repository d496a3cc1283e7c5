"""Symmetry groups of systems: invariance, momentum maps, connections, phases, reconstruction."""
