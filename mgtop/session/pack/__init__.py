"""A session as one file to send, with what is nobody's business masked; and back again."""
