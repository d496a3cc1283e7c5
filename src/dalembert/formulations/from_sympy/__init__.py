"""Systems from `sympy.physics.mechanics`."""
