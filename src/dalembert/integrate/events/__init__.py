"""Events, stop times, switches and rank changes along a run."""
