"""Taylor coefficients of motions as native code."""
