"""The screen: tails a session's log, feeds the model, and draws what it says."""
