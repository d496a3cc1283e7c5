"""Systems built from parts: chains, rigid bodies, circuits, repeated parts, matrix flows."""
