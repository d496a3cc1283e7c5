"""Branches of constraints that are nonlinear in the velocities."""

from ...formulations.velocity_branches import velocity_branches as velocity_branches
