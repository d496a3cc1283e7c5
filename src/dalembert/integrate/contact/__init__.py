"""One-sided constraints along a run."""
