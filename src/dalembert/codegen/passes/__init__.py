"""Passes over programs and graphs, and straight-line solves."""
