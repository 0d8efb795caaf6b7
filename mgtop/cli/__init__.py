"""The command line: one file per command; what is heavy is imported inside the command."""
