"""Measurements; each file is a command, and says at its top how it is run."""
