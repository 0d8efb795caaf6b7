"""The screen in a browser: a page, and a server that starts a view for each that opens it."""
