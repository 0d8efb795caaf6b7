"""What is done to a module when it has been imported, and that nobody notices."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
import threading
import zipfile
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from mgtop.hooks.target import importing
from mgtop.hooks.target.importing import forget, when_imported
from mgtop.wire.records import Notice


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]
    importing._watched.clear()
    if importing._finder in sys.meta_path:
        sys.meta_path.remove(importing._finder)


def test_a_module_is_seen_once_it_has_run_and_before_its_importer_goes_on(folder: Path) -> None:
    (folder / "hooked_a.py").write_text("done = True\n")
    seen: list[bool] = []
    when_imported("hooked_a", lambda module: seen.append(module.done))
    assert seen == []
    import hooked_a  # type: ignore[import-not-found]

    assert seen == [True]
    assert type(hooked_a.__loader__) is SourceFileLoader
    assert "exec_module" not in vars(hooked_a.__spec__.loader)
    assert importing._finder not in sys.meta_path


def test_a_module_that_is_there_is_done_at_once() -> None:
    seen: list[str] = []
    when_imported("json", lambda module: seen.append(module.__name__))
    assert seen == ["json"]


def test_several_wishes_for_one_module_and_one_taken_back(folder: Path) -> None:
    (folder / "hooked_b.py").write_text("")
    seen: list[int] = []

    def unwanted(module: object) -> None:
        seen.append(0)

    when_imported("hooked_b", unwanted)
    when_imported("hooked_b", lambda module: seen.append(1))
    when_imported("hooked_b", lambda module: seen.append(2))
    forget("hooked_b", unwanted)
    importlib.import_module("hooked_b")
    assert seen == [1, 2]


def test_a_submodule_and_the_package_around_it(folder: Path) -> None:
    (folder / "hooked_p").mkdir()
    (folder / "hooked_p" / "__init__.py").write_text("from hooked_p.inner import value\n")
    (folder / "hooked_p" / "inner.py").write_text("value = 1\n")
    seen: list[str] = []
    for name in ("hooked_p", "hooked_p.inner"):
        when_imported(name, lambda module: seen.append(module.__name__))
    importlib.import_module("hooked_p")
    assert seen == ["hooked_p.inner", "hooked_p"]


def test_a_module_that_fails_is_waited_for_again(folder: Path) -> None:
    (folder / "hooked_c.py").write_text("1 / 0\n")
    seen: list[str] = []
    when_imported("hooked_c", lambda module: seen.append(module.__name__))
    with pytest.raises(ZeroDivisionError):
        importlib.import_module("hooked_c")
    assert seen == []
    (folder / "hooked_c.py").write_text("fine = True\n")
    importlib.invalidate_caches()
    importlib.import_module("hooked_c")
    assert seen == ["hooked_c"]


def test_a_module_that_is_not_there_is_missing_as_ever(folder: Path) -> None:
    when_imported("hooked_nowhere", print)
    with pytest.raises(ModuleNotFoundError, match="No module named 'hooked_nowhere'"):
        importlib.import_module("hooked_nowhere")
    assert importlib.util.find_spec("hooked_nowhere") is None


def test_looking_for_a_module_is_not_importing_it(folder: Path) -> None:
    (folder / "hooked_d.py").write_text("")
    seen: list[str] = []
    when_imported("hooked_d", lambda module: seen.append(module.__name__))
    for _ in range(3):
        assert importlib.util.find_spec("hooked_d") is not None
    assert seen == []
    importlib.import_module("hooked_d")
    assert seen == ["hooked_d"]


def test_what_is_built_in_keeps_its_loader() -> None:
    name = "xxsubtype"
    sys.modules.pop(name, None)
    seen: list[str] = []
    when_imported(name, lambda module: seen.append(module.__name__))
    module = importlib.import_module(name)
    assert seen == [name]
    assert module.__loader__ is module.__spec__.loader
    assert isinstance(module.__loader__, type)


def test_a_module_in_a_zip(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(folder / "it.zip", "w") as file:
        file.writestr("hooked_z.py", "a = 1\n")
    monkeypatch.syspath_prepend(folder / "it.zip")
    seen: list[int] = []
    when_imported("hooked_z", lambda module: seen.append(module.a))
    importlib.import_module("hooked_z")
    assert seen == [1]


class OneForAll(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder and loader in one object, as pytest's and setuptools' are."""

    def find_spec(self, name: str, path: object = None, target: object = None):  # type: ignore[no-untyped-def]
        if name.startswith("hooked_all"):
            return importlib.util.spec_from_loader(name, self)
        return None

    def exec_module(self, module) -> None:  # type: ignore[no-untyped-def]
        module.ran = True


def test_one_loader_for_many_modules(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [OneForAll(), *sys.meta_path])
    seen: list[str] = []
    for name in ("hooked_all_1", "hooked_all_2"):
        when_imported(name, lambda module: seen.append(module.__name__))
    importlib.util.find_spec("hooked_all_1")
    importlib.util.find_spec("hooked_all_2")
    for number in range(4):
        assert importlib.import_module(f"hooked_all_{number}").ran
    assert seen == ["hooked_all_1", "hooked_all_2"]


class AsksEverybody(importlib.abc.MetaPathFinder):
    """A finder that asks all others, as other tools' import hooks do."""

    def __init__(self) -> None:
        self.asking = False

    def find_spec(self, name: str, path: object = None, target: object = None):  # type: ignore[no-untyped-def]
        if self.asking or not name.startswith("hooked_"):
            return None
        self.asking = True
        try:
            return importlib.util.find_spec(name)
        finally:
            self.asking = False


def test_beside_another_import_hook(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "hooked_e.py").write_text("")
    seen: list[str] = []
    when_imported("hooked_e", lambda module: seen.append(module.__name__))
    monkeypatch.setattr(sys, "meta_path", [AsksEverybody(), *sys.meta_path, AsksEverybody()])
    importlib.import_module("hooked_e")
    assert seen == ["hooked_e"]


def test_imported_by_several_threads_it_is_seen_once(folder: Path) -> None:
    (folder / "hooked_t.py").write_text("import time\ntime.sleep(0.05)\n")
    seen: list[str] = []
    when_imported("hooked_t", lambda module: seen.append(module.__name__))
    threads = [
        threading.Thread(target=importlib.import_module, args=("hooked_t",)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == ["hooked_t"]


def test_an_error_is_told_and_ends_there(folder: Path, told) -> None:  # type: ignore[no-untyped-def]
    (folder / "hooked_f.py").write_text("")
    when_imported("hooked_f", lambda module: 1 / 0)
    assert importlib.import_module("hooked_f") is sys.modules["hooked_f"]
    (notice,) = told.read(Notice)
    assert notice.source == "hooks"
    assert notice.text.startswith("hooked_f could not be hooked: ZeroDivisionError")


def test_a_module_that_is_executed_again_is_seen_again_where_that_is_wanted(folder: Path) -> None:
    (folder / "hooked_r.py").write_text("value = 1\n")
    once: list[int] = []
    always: list[int] = []

    def seen(module: object) -> None:
        always.append(id(module))

    when_imported("hooked_r", lambda module: once.append(1))
    for _ in range(2):  # asked for twice, it is done once
        when_imported("hooked_r", seen, again=True)
    first = importlib.import_module("hooked_r")
    importlib.reload(first)
    del sys.modules["hooked_r"]
    second = importlib.import_module("hooked_r")
    assert once == [1]
    assert always == [id(first), id(first), id(second)]
    forget("hooked_r", seen)
    importlib.reload(second)
    assert len(always) == 3
