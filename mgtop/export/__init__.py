"""A session in the formats of other tools, one file each, and packed into one file to send."""
