"""Integration methods."""
