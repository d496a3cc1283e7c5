"""Integrators of other packages, which are extras: heyoka, and SUNDIALS through scikit-sundae."""
