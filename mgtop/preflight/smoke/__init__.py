"""The one-frame smoke test: does the program load its weights and write a right picture?

::

    from mgtop.preflight import smoke

    result = smoke.run(config, path)
    if not result.passed:
        print(result.failure, result.failure_text)
"""

from __future__ import annotations

from mgtop.preflight.smoke.result import Criteria, Criterion, FrameTimes, SmokeResult
from mgtop.preflight.smoke.whole_run import run

__all__ = ["Criteria", "Criterion", "FrameTimes", "SmokeResult", "run"]
