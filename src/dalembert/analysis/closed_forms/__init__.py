"""Motions in closed form: the free rigid body by elliptic functions."""
