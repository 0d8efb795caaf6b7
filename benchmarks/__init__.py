"""Measurements; each file is a command, see docs/benchmarks.md."""
