"""Requirements on a motion as constraints, and the forces that impose them."""
