"""Planar bodies joined by hinges."""
