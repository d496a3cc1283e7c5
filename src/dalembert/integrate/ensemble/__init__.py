"""Many runs: ensembles, sweeps, the engines that execute chunks of them, and the stores that keep them."""
