"""The smoke test before a sweep: where the smallest run fails, timings would mean nothing."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mgtop.config import RunConfig

PASSED = "passed"


class Smoke(msgspec.Struct, frozen=True):
    """How it ended; ``text`` says why it failed, or that there was none."""

    passed: bool
    text: str


def smoke_first(config: RunConfig, path: Path) -> Smoke:
    """Run the configuration's smoke test.

    Raises:
        ConfigError: it cannot be started as it is given.
    """
    try:
        from mgtop.preflight import smoke

        run = smoke.run  # type: ignore[attr-defined, unused-ignore]
    except (ImportError, AttributeError):
        return Smoke(True, "this version has no smoke test; the one given was not run")
    result = run(config, path)
    if result.passed:
        return Smoke(True, PASSED)
    why = result.failure_text or ", ".join(
        criterion.evidence for _, criterion in result.criteria.unmet()
    )
    kind = (result.failure or "other").replace("_", " ")
    return Smoke(False, f"{kind}: {why}" if why else kind)
