"""Faults at known times, and how many of them mgtop names rightly."""
