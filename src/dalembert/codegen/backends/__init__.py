"""Code from programs: LLVM, C, expressions of heyoka, and an interpreter in NumPy."""
