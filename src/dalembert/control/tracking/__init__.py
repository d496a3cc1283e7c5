"""Feedback along a motion: regulators, estimators, plans that are made at every sample."""
