"""Methods whose steps solve equations: collocation, RATTLE, variational and energy-preserving steps."""
