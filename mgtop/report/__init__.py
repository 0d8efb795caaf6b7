"""What is said about a session: text, JSON and the gates on them."""
