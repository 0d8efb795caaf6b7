"""Rounds that differ in one thing: baseline, sweep, fallback, comparison. Not built yet."""
