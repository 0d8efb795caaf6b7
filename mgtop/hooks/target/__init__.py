"""What runs inside somebody else's program to find its frames, without a line of it changed.

Standard library only, Python 3.8 and later; nothing here raises into the program. The boot
folder loads this package under a name of its own, in programs whose environment has no mgtop or
another one: so modules here name each other relatively (``from .importing import when_imported``),
and nothing of mgtop but ``mgtop.probe`` absolutely, inside the function that needs it.
"""
