"""Putting the probe into a CPython process that runs already; only when that is asked for."""
