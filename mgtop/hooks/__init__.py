"""Profiles of known projects, which say where their frames are emitted: none yet."""
