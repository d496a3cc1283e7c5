"""Systems as ports: energy balances, interconnection, and tests that tell Hamiltonian systems by
input and output.
"""
