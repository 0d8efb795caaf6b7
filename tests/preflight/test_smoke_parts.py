"""The parts of a smoke test, one by one."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

import mgtop
from mgtop.config import RunConfig
from mgtop.config.load import build_config
from mgtop.preflight.smoke.failure import root_of, swallowed
from mgtop.preflight.smoke.media_look import look
from mgtop.preflight.smoke.open_files import OpenFiles, is_weights
from mgtop.preflight.smoke.output_lines import OutputLine, read_output
from mgtop.preflight.smoke.reported import paths_in, reported_output
from mgtop.preflight.smoke.result import Criteria, Criterion, FrameTimes, SmokeResult
from mgtop.preflight.smoke.seen import read_seen
from mgtop.preflight.smoke.smallest import smallest_run
from mgtop.preflight.smoke.text import render
from mgtop.preflight.smoke.valid import open_media

ROOT = Path(mgtop.__file__).parent


def lines(tmp_path: Path, text: str) -> list[OutputLine]:
    path = tmp_path / "stdout.log"
    path.write_text(text)
    return read_output(path)


class TestFailure:
    @pytest.mark.parametrize(
        ("line", "failure"),
        [
            ("AssertionError: Torch not compiled with CUDA enabled", "no_cuda"),
            ("RuntimeError: No CUDA GPUs are available", "no_cuda"),
            ("RuntimeError: Found no NVIDIA driver on your system.", "no_cuda"),
            ("RuntimeError: CUDA error: no kernel image is available for execution", "no_cuda"),
            ("ImportError: libcuda.so.1: cannot open shared object file", "no_cuda"),
            ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.", "oom"),
            ("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling x", "oom"),
            ("FileNotFoundError: [Errno 2] No such file or directory: 'ckpt/a.pt'", "weights_path"),
            (
                "OSError: org/model does not appear to have a file named c.json.",
                "weights_path",
            ),
            ("safetensors_rust.SafetensorError: Error while deserializing header", "weights_path"),
            ("RuntimeError: PytorchStreamReader failed reading zip archive", "weights_path"),
            ("ValueError: height must be divisible by 16", "other"),
        ],
    )
    def test_kinds(self, tmp_path: Path, line: str, failure: str) -> None:
        root = root_of(lines(tmp_path, f"starting\n{line}\n"))
        assert root is not None
        assert (root.failure, root.text) == (failure, line)

    def test_the_earliest_root_counts_and_not_the_last_traceback(self, tmp_path: Path) -> None:
        root = root_of(
            lines(
                tmp_path,
                "warning: step skipped: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
                "Traceback (most recent call last):\n"
                '  File "infer.py", line 3, in <module>\n'
                "    raise FileNotFoundError('weights.pt')\n"
                "AttributeError: 'NoneType' object has no attribute 'shape'\n",
            )
        )
        assert root is not None
        assert root.failure == "oom"

    def test_source_lines_of_a_traceback_are_not_what_happened(self, tmp_path: Path) -> None:
        root = root_of(
            lines(
                tmp_path,
                '  File "infer.py", line 3, in <module>\n'
                "    raise RuntimeError('No CUDA GPUs are available')\n"
                "ValueError: wrong prompt\n",
            )
        )
        assert root is not None
        assert root.failure == "other"

    def test_what_a_program_goes_on_after(self, tmp_path: Path) -> None:
        found = swallowed(lines(tmp_path, "fine\n2026 ERROR pipeline: decode failed\nsaved\n"))
        assert found is not None
        assert found.number == 2
        assert swallowed(lines(tmp_path, "0 errors\nerror bars are small\nsaved\n")) is None
        noise = "ERROR: Unable to register cuDNN factory: already registered\n"
        assert swallowed(lines(tmp_path, noise)) is None


class TestReported:
    def test_paths_in_lines(self) -> None:
        cwd = Path("/work")
        assert paths_in("Saved 'my clip.mp4' to disk", cwd) == [Path("/work/my clip.mp4")]
        assert paths_in("output=/tmp/a.png, took 3s", cwd) == [Path("/tmp/a.png")]
        assert paths_in("Saving generated video to out/x_704*1280.mp4.", cwd) == [
            Path("/work/out/x_704*1280.mp4")
        ]
        assert paths_in("see https://example.org/teaser.png", cwd) == []
        assert paths_in("wrote weights.pt and frame.pnguin", cwd) == []

    def test_an_input_is_no_output(self, tmp_path: Path) -> None:
        (tmp_path / "input.png").write_bytes(b"x")
        os.utime(tmp_path / "input.png", (1, 1))
        told = lines(tmp_path, f"reading {tmp_path}/input.png\n")
        found = reported_output(None, told, tmp_path, time.time_ns())
        assert found.path is None
        assert not found.criterion.passed

    def test_a_path_in_an_error_is_not_reported(self, tmp_path: Path) -> None:
        told = lines(tmp_path, "OSError: cannot write out/frame.png\n")
        assert not reported_output(None, told, tmp_path, 0).criterion.passed

    def test_the_one_that_is_there_counts(self, tmp_path: Path) -> None:
        (tmp_path / "b.mp4").write_bytes(b"x")
        told = lines(tmp_path, "writing a.mp4\nsaved b.mp4\nnext: c.mp4\n")
        assert reported_output(None, told, tmp_path, 0).path == tmp_path / "b.mp4"


def png(width: int, height: int, filter_: int, depth: int = 8, colour: int = 2) -> bytes:
    channels = {0: 1, 2: 3, 6: 4}[colour]
    step = channels * depth // 8
    rows, before = b"", bytes(width * step)
    for y in range(height):
        row = bytes((3 * x + 5 * y + n) % 251 for x in range(width) for n in range(step))
        coded = bytearray()
        for at, value in enumerate(row):
            left = row[at - step] if at >= step else 0
            corner = before[at - step] if at >= step else 0
            up = before[at]
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda one, guess=guess: abs(guess - one))
            coded.append((value - (0, left, up, (left + up) // 2, paeth)[filter_]) & 255)
        rows += bytes([filter_]) + coded
        before = row

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


class TestMedia:
    @pytest.mark.parametrize("filter_", range(5))
    @pytest.mark.parametrize(("depth", "colour"), [(8, 0), (8, 2), (8, 6), (16, 2)])
    def test_png_without_any_library(
        self, tmp_path: Path, filter_: int, depth: int, colour: int
    ) -> None:
        path = tmp_path / "a.png"
        path.write_bytes(png(13, 7, filter_, depth, colour))
        found = look(str(path))
        assert "error" not in found
        assert (found["width"], found["height"], found["frames"]) == (13, 7, 1)
        assert found["spread"] > 2

    def test_png_agrees_with_a_library(self, tmp_path: Path) -> None:
        av = pytest.importorskip("av", reason="PyAV is not installed")
        path = tmp_path / "a.png"
        path.write_bytes(png(20, 10, 4))
        with av.open(str(path)) as container:
            array = next(container.decode(video=0)).to_ndarray(format="rgb24")
        found = look(str(path))
        assert (found["low"], found["high"]) == (array.min(), array.max())

    def test_a_wrong_checksum_is_not_a_picture(self, tmp_path: Path) -> None:
        data = bytearray(png(20, 10, 0))
        data[60] ^= 255
        path = tmp_path / "a.png"
        path.write_bytes(data)
        assert "checksum" in look(str(path))["error"]

    @pytest.mark.parametrize("constant", [True, False])
    def test_video(self, tmp_path: Path, constant: bool) -> None:
        av = pytest.importorskip("av", reason="PyAV is not installed")
        numpy = pytest.importorskip("numpy", reason="numpy is not installed")
        path = tmp_path / "a.mp4"
        with av.open(str(path), "w") as container:
            stream = container.add_stream("mpeg4", rate=8)
            stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
            for number in range(5):
                ramp = numpy.linspace(0, 255, 64, dtype="uint8")[None, :, None]
                picture = numpy.full((48, 64, 3), 40 * number, dtype="uint8")
                picture = picture if constant else numpy.broadcast_to(ramp, (48, 64, 3)).copy()
                container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            container.mux(stream.encode(None))
        media = open_media(path, [sys.executable])
        assert (media.width, media.height, media.frames) == (64, 48, 5)
        assert (media.spread <= 2) is constant

    def test_no_interpreter_can(self, tmp_path: Path) -> None:
        path = tmp_path / "a.mp4"
        path.write_bytes(b"not a video")
        assert open_media(path, [str(tmp_path / "python")]).error
        assert open_media(path, []).error

    def test_it_runs_on_old_pythons(self, tmp_path: Path) -> None:
        found = sorted(Path("~/.pyenv/versions").expanduser().glob("3.8*/bin/python3"))
        if not found:
            pytest.skip("there is no CPython 3.8 here")
        path = tmp_path / "a.png"
        path.write_bytes(png(20, 10, 1))
        media = open_media(path, [str(found[0])])
        assert (media.error, media.width) == ("", 20)


class TestSmallest:
    def config(self, **more: object) -> RunConfig:
        command = ["python", "infer.py", "--steps", "{steps}", "--size", "{resolution}"]
        params = {"steps": 24, "resolution": "1280x720", "seed": 0}
        return build_config({"command": command, "params": params, "cwd": "/w"} | more)

    def test_values_that_the_configuration_lists(self) -> None:
        fallback = {"steps": [24, 16, 4], "resolution": ["1280x720", "640x352"]}
        found = smallest_run(self.config(fallback=fallback), Path("/w/a.yaml"))
        assert found.config.params == {"steps": 4, "resolution": "640x352", "seed": 0}
        assert found.size == (640, 352)
        assert found.note == "the run's own command with steps=4, resolution=640x352"

    def test_without_any_nothing_is_made_up(self) -> None:
        found = smallest_run(self.config(), Path("/w/a.yaml"))
        assert found.config.params["steps"] == 24
        assert found.size == (1280, 720)

    def test_its_own_smoke_test(self) -> None:
        smoke = {
            "command": ["python", "one.py", "--height=352", "--width", "640"],
            "output": "o/{seed}.png",
        }
        found = smallest_run(self.config(smoke=smoke), Path("/w/a.yaml"))
        assert found.config.command[1] == "one.py"
        assert found.output == Path("/w/o/0.png")
        assert found.size == (640, 352)

    def test_parameters_that_its_command_does_not_use_ask_for_no_size(self) -> None:
        smoke = {"command": ["python", "one.py"], "output": "o.png"}
        assert smallest_run(self.config(smoke=smoke), Path("/w/a.yaml")).size is None


def test_weight_files_held_open_or_mapped_are_seen_from_outside(tmp_path: Path) -> None:
    for name in ("a.safetensors", "b.pt", "c.pt", "d.txt", "empty.pt"):
        (tmp_path / name).write_bytes(b"" if name == "empty.pt" else b"x" * 5000)
    program = (
        "import ctypes, sys\n"
        "a = open('a.safetensors', 'rb'); c = ctypes.CDLL(None); c.mmap.restype = ctypes.c_void_p\n"
        "c.mmap(None, ctypes.c_size_t(4096), 1, 2, a.fileno(), ctypes.c_long(0))\n"
        "a.close(); b = open('b.pt', 'rb'); c = open('c.pt', 'ab'); d = open('d.txt')\n"
        "e = open('empty.pt', 'rb'); print('ready', flush=True); sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"ready\n"
        files = OpenFiles()
        files.look([process.pid, 2**22 - 1])
        assert {Path(path).name: how.split()[0] for path, how in files.found.items()} == {
            "a.safetensors": "mapped",
            "b.pt": "open",
        }
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


FAKE_TORCH = """
import sys, time, types
torch = types.ModuleType("torch"); cuda = types.ModuleType("torch.cuda")
cuda.waits = 0
def synchronize():
    cuda.waits += 1
    time.sleep(0.03)  # what was queued before
cuda.synchronize = synchronize
cuda.is_initialized = lambda: True
cuda.is_current_stream_capturing = lambda: False
torch.cuda = cuda
sys.modules["torch"] = torch; sys.modules["torch.cuda"] = cuda
from mgtop import probe
with probe.request() as request:
    with request.span("forward"):
        pass
    request.frame()
print(cuda.waits)
"""


@pytest.mark.parametrize("smoke", [True, False])
def test_the_gpu_is_waited_for_in_a_smoke_test_and_nowhere_else(
    tmp_path: Path, smoke: bool
) -> None:
    environment = {
        "PYTHONPATH": str(ROOT / "hooks" / "boot"),
        "MGTOP_RUNTIME": str(tmp_path / "runtime"),
        "MGTOP_HOOKS": "probe",
    }
    if smoke:
        environment["MGTOP_SMOKE"] = str(tmp_path / "seen.jsonl")
    answer = subprocess.run(
        [sys.executable, "-c", FAKE_TORCH],
        cwd="/", env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    waits = int(answer.stdout)
    assert waits >= 4 if smoke else waits == 0


def test_what_is_seen_from_inside_on_old_pythons(tmp_path: Path) -> None:
    found = sorted(Path("~/.pyenv/versions").expanduser().glob("3.8*/bin/python3"))
    if not found:
        pytest.skip("there is no CPython 3.8 here")
    (tmp_path / "w.safetensors").write_bytes(b"x" * 100)
    seen = tmp_path / "seen.jsonl"
    subprocess.run(
        [str(found[0]), "-c", "open('w.safetensors', 'rb').read(); open('w.safetensors', 'ab')"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "hooks" / "boot"), "MGTOP_SMOKE": str(seen)},
        check=True,
    )
    (only,) = read_seen(seen)
    assert (only.what, only.path, only.bytes) == ("opened", str(tmp_path / "w.safetensors"), 100)


def test_lines_that_were_cut_off_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "seen.jsonl"
    whole = json.dumps({"what": "opened", "pid": 1, "t_ns": 2, "path": "a.pt"})
    path.write_text(f"{whole}\n{whole[:20]}")
    assert len(read_seen(path)) == 1
    assert read_seen(tmp_path / "none") == []


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_page_is_as_wide_as_the_terminal(width: int) -> None:
    bad = Criterion(passed=False, evidence="it is /not/there " * 12)
    result = SmokeResult(
        passed=False,
        criteria=Criteria(
            weights_loaded=bad, output_reported=bad, output_valid=bad, exit_zero=bad, no_errors=bad
        ),
        cold=FrameTimes(load_ms=12_345.6, fwd_ms=99.94, total_ms=13_000.0),
        failure="weights_path",
        failure_text="FileNotFoundError: " + "x" * 20,
        times_note="from the program's own lines of stages",
        command=["python", "infer.py"] * 8,
        session="/tmp/s",
    )
    page = render(result, width, lambda _good, text: text)
    assert "bad weights path" in page
    assert "n/a" in page
    if width >= 58:
        assert max(map(len, page.splitlines())) <= width


def test_the_path_files_of_an_environment_are_no_weights(tmp_path: Path) -> None:
    for name in ("lib/site-packages/easy.pth", "lib/site-packages/lpips/vgg.pth", "model.pth"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    assert not is_weights(str(tmp_path / "lib/site-packages/easy.pth"))
    assert is_weights(str(tmp_path / "lib/site-packages/lpips/vgg.pth"))
    assert is_weights(str(tmp_path / "model.pth"))
    assert not is_weights(str(tmp_path / "nowhere.pth"))
