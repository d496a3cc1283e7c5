"""Linear feedback, and controlled Lagrangians and Routhians."""
