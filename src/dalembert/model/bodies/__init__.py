"""Bodies, joints and mechanisms: what becomes a `System` without writing energies."""
