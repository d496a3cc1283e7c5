"""Drawings along a motion: shapes, scenes, frames, animations and their files."""
