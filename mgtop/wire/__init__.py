"""The records and how they are framed. Everything that crosses a process boundary."""
