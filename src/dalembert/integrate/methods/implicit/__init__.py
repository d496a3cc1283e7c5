"""Steps that solve equations: collocation, RATTLE, variational and energy-preserving ones."""
