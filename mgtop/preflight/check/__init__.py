"""A repository's stated requirements against this machine: ``mgtop check``.

Nothing of the repository is run or imported: its text is read, quoted and compared.
"""

from __future__ import annotations

from mgtop.preflight.check.run import CannotCheck, Checked, check

__all__ = ["CannotCheck", "Checked", "check"]
