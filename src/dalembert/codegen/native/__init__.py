"""The typed subset of Python for native loops, and its translation to LLVM and C."""
