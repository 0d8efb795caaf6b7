"""Records in, a model of the session out. Pure: no input or output, no clock, no screen."""
