"""The screen over a slow, far SSH line."""
