"""What works on unmodified programs: hooks and sinks inside them, profiles of known projects."""
