"""Numbers of mechanisms: kinematics, mass matrices, inverse dynamics, assembly, agreement."""
