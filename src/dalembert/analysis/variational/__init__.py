"""Variational principles of nonholonomic motion, and the inverse problem of mechanics."""
