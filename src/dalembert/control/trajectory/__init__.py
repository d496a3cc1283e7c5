"""Direct optimal control: a trajectory as a nonlinear program, solved, refined and replayed."""
