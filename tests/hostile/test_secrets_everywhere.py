"""A program that is given secrets in every way: none is in the session, nor in what leaves it.

But for what it prints itself: that is its own text, kept as it is, and masked when it is packed.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import msgspec
import pytest

from mgtop.cli.main import run
from mgtop.record.launch import LaunchError, start
from mgtop.record.plan import Plan
from mgtop.session.marks import append_mark
from mgtop.session.reader import read_all
from tests.record.recording import ROOT

PROGRAM = """
from mgtop import probe
print("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB. https://u:LEAK-oom@h/x")
print("Authorization: Bearer LEAK-printed and https://h/w?token=LEAK-query")
with probe.request("see https://u:LEAK-id@h/", fps=40, api_key="LEAK-param",
                   url="https://h/?access_token=LEAK-url") as request:
    for _ in range(4):
        request.frame()
    probe.mark("at https://u:LEAK-mark@h")
"""
CONFIG = """
name: secrets
command: [{python}, -c, {program}, --token, LEAK-word, --url, "https://bob:LEAK-login@h/p",
  "--hf-token=LEAK-equals", --endpoint, "https://h/?api_key=LEAK-parameter",
  -H, "Authorization: Bearer LEAK-header", --db, "postgres://u:LEAK-with@at@h/db",
  --git, "https://LEAK-token-of-20-characters@github.com/x"]
env: {{HF_TOKEN: LEAK-env, MY_HEADERS: "X-Api-Key: LEAK-env-header", REDIS: "redis://:LEAK-redis@h",
  CALLBACK: "https://h/cb?token=LEAK-env-url", PYTHONPATH: {root}}}
params: {{api_token: LEAK-setting, source: "rtsp://cam:LEAK-camera@10.0.0.1/s"}}
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("secrets")
    words = {"python": sys.executable, "program": PROGRAM, "root": str(ROOT)}
    quoted = {name: msgspec.json.encode(word).decode() for name, word in words.items()}
    (folder / "run.yaml").write_text(CONFIG.format(**quoted))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "LEAK-outer")
        patch.setenv("MGTOP_RUNTIME", str(folder / "runtime"))
        arguments = ["run", "--headless", str(folder / "run.yaml"), "--out", str(folder / "s")]
        assert run(arguments) == 0
    append_mark(folder / "s", 1, "password: LEAK-said")
    return folder / "s"


def leaks(text: str) -> str:
    return text[max(0, text.index("LEAK") - 60) :][:120] if "LEAK" in text else ""


def test_nothing_of_them_is_kept(session: Path) -> None:
    records = list(read_all(session))
    assert len(records) > 10
    assert leaks(" ".join(str(msgspec.to_builtins(record)) for record in records)) == ""
    for file in session.rglob("*"):
        if file.is_file() and file.name not in ("session.log", "stdout.log"):
            assert leaks(file.read_text("utf-8", "replace")) == "", file.name


def test_a_recorder_that_never_came_up_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "msgspec.py").write_text("raise ImportError('broken installation')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    plan = Plan(name="x", command=["true"], cwd="/", env={"HF_TOKEN": "LEAK-plan"})
    with pytest.raises(LaunchError, match="did not start"):
        start(plan, out=tmp_path / "s")
    for file in (tmp_path / "s").iterdir():
        assert leaks(file.read_text()) == "", file.name


@pytest.mark.parametrize(
    "words",
    [
        ["report"],
        ["report", "--json"],
        ["report", "--markdown"],
        ["export", "--to", "jsonl"],
        ["export", "--to", "csv"],
        ["export", "--to", "perfetto"],
        ["ls", "--json"],
    ],
)
def test_nothing_of_them_is_printed(
    session: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [words[0], str(session), *words[1:]] if words[0] != "ls" else words
    assert run(arguments) == 0
    assert leaks(capsys.readouterr().out) == ""


def test_nothing_of_them_leaves_in_a_page_or_a_pack(session: Path, tmp_path: Path) -> None:
    page, pack = tmp_path / "page.html", tmp_path / "pack.zip"
    assert run(["report", str(session), "--html", str(page)]) == 0
    assert leaks(page.read_text()) == ""
    assert run(["pack", str(session), "-o", str(pack)]) == 0
    with zipfile.ZipFile(pack) as file:
        for name in file.namelist():
            if not name.endswith("session.log"):
                assert leaks(file.read(name).decode("utf-8", "replace")) == "", name
        file.extract("session.log", tmp_path)
    assert leaks(" ".join(str(msgspec.to_builtins(one)) for one in read_all(tmp_path))) == ""
