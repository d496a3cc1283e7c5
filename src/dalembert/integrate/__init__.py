"""From equations to a motion: one entry, adaptive steps, events, projection, results."""
