"""What an injected process runs: one guarded statement that starts the hooks and opens the probe.

It stands in ``__main__`` for a moment, so it binds no name there; nothing that goes wrong
leaves it; run twice, it does nothing the second time. All code is loaded from its own folder
under names of its own, without that folder or another one on the module path: nothing of the
program's is shadowed, and a program that has a probe of its own keeps that.
"""

from __future__ import annotations

_SOURCE = """
import sys
def load(folder, settings):
    boot = sys.modules.get("_mgtop_boot")
    if boot is None:
        from importlib.util import module_from_spec, spec_from_file_location
        spec = spec_from_file_location("_mgtop_boot", folder + "/hooks/boot/_mgtop_boot.py")
        boot = module_from_spec(spec)
        sys.modules["_mgtop_boot"] = boot
        try:
            spec.loader.exec_module(boot)
        except BaseException:
            del sys.modules["_mgtop_boot"]
            raise
    boot.begin(settings, True)
    from mgtop.probe import outlet, torch_watch
    outlet.start()
    torch_watch.look()
load(FOLDER, SETTINGS)
"""


def payload(folder: str, settings: str) -> str:
    """The text to run in a process.

    Args:
        folder: where it finds what it needs (:mod:`mgtop.record.inject.placing`).
        settings: what is asked of the hooks, as ``configured.written`` gives it.
    """
    source = _SOURCE.replace("FOLDER", repr(folder)).replace("SETTINGS", ascii(settings))
    return guarded(source)


def guarded(source: str) -> str:
    """A text that runs ``source`` in names of its own, and out of which nothing is raised."""
    code = f"compile({source!r}, '<mgtop>', 'exec', 0, True)"
    names = "{'__name__': 'mgtop.injected', '__builtins__': __builtins__}"
    return f"try:\n exec({code}, {names})\nexcept BaseException:\n pass\n"
