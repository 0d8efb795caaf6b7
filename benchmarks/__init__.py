"""Measurements; each file is a command; figures are in docs/benchmarks.md."""
