"""Many runs: ensembles, sweeps, the engines that execute chunks of them, and their stores."""
