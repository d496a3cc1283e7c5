"""The Hamilton-Jacobi method: conditions, complete integrals, and motions from them."""
