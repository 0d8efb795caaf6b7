"""Faults to order: each does for real what makes frames late elsewhere, and writes down when."""
