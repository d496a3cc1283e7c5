"""First-order flows."""
