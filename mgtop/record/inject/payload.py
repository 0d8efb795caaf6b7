"""What an injected process runs: one guarded statement that loads the probe and opens it.

It stands in ``__main__`` for a moment, so it binds no name there; nothing that goes wrong
leaves it; run twice, it does nothing the second time. The probe is loaded from its folder under
its own name, ``mgtop.probe``, without that folder or another one on the module path: nothing of
the program's is shadowed, and a program that has a probe of its own keeps that.
"""

from __future__ import annotations

_SOURCE = """
import sys
def load(folder):
    loaded = sys.modules.get("mgtop.probe")
    if loaded is None:
        import importlib, importlib.machinery, importlib.util, types
        try:
            own = importlib.util.find_spec("mgtop.probe")
        except (ImportError, AttributeError, ValueError):
            own = None
        if own is not None:
            importlib.import_module("mgtop.probe")
        else:
            parent = sys.modules.get("mgtop")
            made = parent is None
            if made:
                parent = types.ModuleType("mgtop", "Made by mgtop to hold its probe.")
                parent.__path__ = []
                spec = importlib.machinery.ModuleSpec("mgtop", None, is_package=True)
                parent.__spec__ = spec
                sys.modules["mgtop"] = parent
            try:
                spec = importlib.util.spec_from_file_location(
                    "mgtop.probe", folder + "/__init__.py", submodule_search_locations=[folder])
                module = importlib.util.module_from_spec(spec)
                sys.modules["mgtop.probe"] = module
                spec.loader.exec_module(module)
                parent.probe = module
            except BaseException:
                for name in [name for name in sys.modules if name.startswith("mgtop.probe")]:
                    del sys.modules[name]
                if made:
                    del sys.modules["mgtop"]
                raise
    from mgtop.probe import outlet, torch_watch
    outlet.start()
    torch_watch.look()
load(FOLDER)
"""


def payload(folder: str) -> str:
    """The text to run in a process, for which the probe package lies in ``folder``."""
    source = _SOURCE.replace("FOLDER", repr(folder))
    code = f"compile({source!r}, '<mgtop>', 'exec', 0, True)"
    names = "{'__name__': 'mgtop.injected', '__builtins__': __builtins__}"
    return f"try:\n exec({code}, {names})\nexcept BaseException:\n pass\n"
