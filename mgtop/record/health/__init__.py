"""What works on this machine, what does not, and why: the checks behind ``mgtop doctor``."""

from __future__ import annotations

from mgtop.record.health.examine import Examined, examine_machine
from mgtop.record.health.finding import Finding

__all__ = ["Examined", "Finding", "examine_machine"]
