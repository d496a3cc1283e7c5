"""The tolerance of a step, from that of the motion."""

from __future__ import annotations

__all__ = ["COARSE", "LEAST_RTOL", "LOCAL_SHARE"]

#: A step is held to this share of the motion's tolerance, because errors add up and grow.
LOCAL_SHARE = 0.02
#: No step is asked for more than rounding allows.
LEAST_RTOL = 2e-15
#: From this tolerance on, Radau's method of order 5 takes less work than that of order 9.
COARSE = 1e-5
