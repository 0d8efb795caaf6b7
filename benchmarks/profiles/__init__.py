"""Profiles of known projects, held against what the projects really did."""
