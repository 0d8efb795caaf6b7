"""Hostile input: what a stranger's bytes can do to mgtop. ``python -m benchmarks.fuzz --help``."""
