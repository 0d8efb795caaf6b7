"""Before a run: a repository's requirements against this machine, and the one-frame smoke test."""
