"""The two algebras a derivation runs on: CasADi's shared graph for native code, SymPy's trees for people to read."""
