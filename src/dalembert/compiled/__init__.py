"""From a graph of expressions to native code: straight-line programs, their backends, and the constrained solve."""
