"""Robots from files: URDF and MJCF become mechanisms."""
