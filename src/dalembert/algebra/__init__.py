"""The two algebras of a derivation: CasADi's graph for native code, SymPy's trees for reading."""
