"""Between runs: sweeps, matrices, fallbacks and comparisons, one variable at a time."""
