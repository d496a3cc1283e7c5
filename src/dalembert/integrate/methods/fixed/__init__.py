"""The loop of methods with a given step, and its checks."""
