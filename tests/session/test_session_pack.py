"""A session as one file: what is masked in it, and what is refused when one is opened."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mgtop
from mgtop.session.pack import read as pack_read
from mgtop.session.pack.masking import Masker
from mgtop.session.pack.read import NoPack, is_pack, unpacked
from mgtop.session.pack.write import StillThere, prepare, write
from mgtop.session.reader import read_all
from mgtop.session.writer import LOG_NAME, LogWriter
from mgtop.wire import records as r
from tests.export.recorded import unpack

ROOT = Path(__file__).parents[2]
SECRETS = ("anna", "gpu-box-7", "hf_abcdefghijklmnop", "s3cret-value", "hunter22")


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One that is full of what is nobody's business."""
    monkeypatch.setattr("mgtop.session.pack.write.own_names", lambda: ({"anna"}, {"gpu-box-7"}))
    folder = tmp_path / "stormlight"
    folder.mkdir()
    proc = r.proc_of(7, 7)
    LogWriter(folder).append(
        [
            r.SessionStart(1, 5, 1, "0.1.0", "stormlight", {"prompt": "a cat of anna", "steps": 4}),
            r.TargetStart(
                2, 7, proc, ["python", "/home/anna/infer.py", "--token", "s3cret-value"],
                "/home/anna/models",
            ),
            r.RequestReceived(3, 0, proc, 7, 1, "anna-7f3a", {"path": "/home/anna/x.png"}),
            r.FrameEmit(4, 1, proc, 7, 1, 0, 0, 1),
            r.Mark(5, 2, proc, 7, "anna pressed jump"),
            r.OutputLine(6, 30, "error", "hf_abcdefghijklmnop was refused on gpu-box-7"),
        ]
    )  # fmt: skip
    (folder / "config.yaml").write_text(
        "command: [python, /home/anna/infer.py]\nenv: {HF_TOKEN: hf_abcdefghijklmnop, OMP: '4'}\n"
        "params: {steps: 4, api_key: hunter22}\n"
    )
    (folder / "stdout.log").write_text(
        "loading /home/anna/models\nlogin with token=hf_abcdefghijklmnop on gpu-box-7\nstep 3\n"
    )
    (folder / "marks.jsonl").write_text('{"t_ns": 5, "text": "anna saw it"}\n')
    (folder / "recorder.lock").write_text("{}")
    (folder / "core.77").write_bytes(b"\x00anna")
    return folder


def packed(session: Path, tmp_path: Path, strict: bool = False) -> tuple[Path, list[str]]:
    scratch = tmp_path / f"scratch-{strict}"
    scratch.mkdir()
    found = prepare(session, scratch, strict)
    to = tmp_path / "a.mgtop.zip"
    write(found, "stormlight", to)
    return to, found.listed()


def inside(pack: Path) -> str:
    """All that a reader of the pack can find in it."""
    with zipfile.ZipFile(pack) as file, unpacked(pack) as folder:
        log = "\n".join(str(msgspec.to_builtins(record)) for record in read_all(folder))
        names = [name for name in file.namelist() if name != LOG_NAME]
        return log + "\n".join(file.read(name).decode() for name in names)


def test_names_and_secrets_are_gone_and_the_rest_is_there(session: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in session.rglob("*") if path.is_file()}
    pack, listed = packed(session, tmp_path)
    text = inside(pack)
    for secret in SECRETS:
        assert secret not in text
    for kept in ("/home/****/infer.py", "step 3", "'steps': 4", "pressed jump", "a cat of"):
        assert kept in text
    assert before == {path: path.read_bytes() for path in session.rglob("*") if path.is_file()}
    with zipfile.ZipFile(pack) as file:
        assert set(file.namelist()) == {
            LOG_NAME, "config.yaml", "stdout.log", "marks.jsonl", "pack.json"
        }  # fmt: skip
        about = json.loads(file.read("pack.json"))
    assert about["left_out"] == ["core.77"]
    assert about["masked"] == listed
    for kind in ("tokens", "environment", "home", "user names", "host names"):
        assert any(kind in line for line in listed)
    assert stat.S_IMODE(pack.stat().st_mode) == 0o600


def test_redact_hides_what_was_written_too(session: Path, tmp_path: Path) -> None:
    pack, _ = packed(session, tmp_path, strict=True)
    text = inside(pack)
    for written in ("a cat of", "jump", "step 3", "was refused", "7f3a", "saw it"):
        assert written not in text
    assert "'steps': 4" in text
    with zipfile.ZipFile(pack) as file:
        assert "stdout.log" not in file.namelist()


def test_places_in_the_output_stay_where_the_log_says(session: Path, tmp_path: Path) -> None:
    pack, _ = packed(session, tmp_path)
    with unpacked(pack) as folder:
        now, before = (folder / "stdout.log").read_bytes(), (session / "stdout.log").read_bytes()
    assert len(now) == len(before)
    assert [len(line) for line in now.split(b"\n")] == [len(line) for line in before.split(b"\n")]


def test_what_is_left_by_mistake_stops_it(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Masker, "text", lambda self, text: text)
    (tmp_path / "scratch").mkdir()
    with pytest.raises(StillThere, match="would be left"):
        prepare(session, tmp_path / "scratch")


def test_a_pack_takes_the_place_of_a_session(session: Path, tmp_path: Path) -> None:
    pack, _ = packed(session, tmp_path)
    assert is_pack(pack)
    for words in (("report", pack), ("report", pack, "--json"), ("export", pack, "--to", "csv")):
        done = subprocess.run(
            [sys.executable, "-m", "mgtop", *map(str, words)],
            cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("mgtop-pack-*"))
    opened = mgtop.open(pack)
    assert opened.name == "a"
    assert len(opened.frames) == 1
    folder = opened.path
    del opened
    assert not folder.exists()


def test_a_session_recorded_by_an_older_version_is_packed_and_opened(tmp_path: Path) -> None:
    old = unpack(tmp_path / "old")
    pack, _ = packed(old, tmp_path)
    with unpacked(pack) as folder:
        now, before = list(read_all(folder)), list(read_all(old))
    assert len(now) == len(before)
    assert [type(one) for one in now] == [type(one) for one in before]
    frames = [one for one in now if isinstance(one, r.FrameEmit)]
    assert frames == [one for one in before if isinstance(one, r.FrameEmit)]


def zipped(tmp_path: Path, **files: bytes) -> Path:
    path = tmp_path / "evil.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(LOG_NAME, b"")
        for name, data in files.items():
            file.writestr(name, data)
    return path


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "a/../../outside", "a\\b", "a\nb"])
def test_a_file_that_would_lie_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    path = zipped(tmp_path, **{name: b"x"})
    with pytest.raises(NoPack, match="no pack of mgtop"), unpacked(path):
        pass
    assert not (tmp_path / "outside").exists()
    assert not Path("/tmp/outside").exists()


def test_a_link_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "link.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(LOG_NAME, b"")
        link = zipfile.ZipInfo("stdout.log")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(link, "/etc/passwd")
    with pytest.raises(NoPack, match="no pack of mgtop"), unpacked(path):
        pass


def test_what_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack_read, "MOST_BYTES", 1 << 20)
    with (
        pytest.raises(NoPack, match="unpacks to more"),
        unpacked(zipped(tmp_path, **{"stdout.log": bytes(4 << 20)})),
    ):
        pass
    monkeypatch.setattr(pack_read, "MOST_FILES", 3)
    with (
        pytest.raises(NoPack, match="files"),
        unpacked(zipped(tmp_path, **{str(number): b"" for number in range(9)})),
    ):
        pass


def test_what_is_none_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("holiday.jpg", b"")
    with pytest.raises(NoPack, match="holds no session"), unpacked(path):
        pass
    whole = zipped(tmp_path, **{"stdout.log": os.urandom(9_000)}).read_bytes()
    path.write_bytes(whole[:400] + bytes(50) + whole[450:])
    with pytest.raises(NoPack, match="damaged"), unpacked(path):
        pass


WORDS = st.sampled_from(
    ["/home/anna/x", "token=abc123def", "--api-key zzz", "hf_abcdefghijklmnop", "anna", "step",
     "gpu-box-7", "https://anna:pw@host/x", "\t", "é", "=", "***", "anna's", "max_tokens=5"]
)  # fmt: skip


@given(st.lists(WORDS | st.text(max_size=12), max_size=12))
def test_a_mask_is_as_long_as_what_it_hides(words: list[str]) -> None:
    text = " ".join(words)
    masked = Masker({"anna"}, {"gpu-box-7"}).text(text)
    assert len(masked.encode("utf-8", "replace")) == len(text.encode("utf-8", "replace"))
    for secret in ("/home/anna", "hf_abcdefghijklmnop", "abc123def", "gpu-box-7"):
        if f" {secret} " in f" {text} ":
            assert f" {secret} " not in f" {masked} "
