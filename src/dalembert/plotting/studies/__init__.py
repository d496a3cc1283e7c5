"""Results of studies in pictures: fits, balances, height functions, evidence, printed figures."""
