"""The session folder: its log, its marks, its lock, its name."""
