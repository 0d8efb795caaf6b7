"""The likely entry script of an unknown repository and its options, read from the source alone.

Nothing is imported or run: files are parsed, and calls of ``add_argument`` (argparse) and
``option`` (click, typer) are looked at.
"""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

MOST_FILES = 400
MOST_BYTES = 512 << 10
MOST_LEVELS = 2
"""Folders below the repository's that are looked into."""

MEANINGS: dict[str, tuple[str, ...]] = {
    "steps": (
        "num_inference_steps", "inference_steps", "sample_steps", "sampling_steps",
        "denoising_steps", "num_denoising_steps", "infer_steps", "ddim_steps", "num_sampling_steps",
        "num_steps", "steps", "step",
    ),
    "height": ("height", "image_height", "video_height", "h"),
    "width": ("width", "image_width", "video_width", "w"),
    "size": ("size", "resolution", "video_size", "image_size"),
    "frames": (
        "num_frames", "frame_num", "video_length", "num_output_frames", "max_num_output_frames",
        "n_frames", "frames", "num_blocks", "num_iterations",
    ),
    "fps": ("fps", "frame_rate", "target_fps"),
    "seed": ("seed", "base_seed", "random_seed"),
}  # fmt: skip
"""What a parameter is called here → what options of programs are called."""

_NAMES = re.compile(
    r"infer|generat|demo|stream|sampl|predict|play|interactive|serve|server|main|run|app|cli"
)
_NOT = re.compile(r"train|test|setup|convert|export|eval|benchmark|download|preprocess|install")
_SKIPPED = {
    "tests",
    "test",
    "docs",
    "build",
    "dist",
    "node_modules",
    "third_party",
    "site-packages",
}

WRITERS: dict[str, str] = {
    "cv2.VideoWriter": r"\bVideoWriter\(",
    "imageio": r"\bimageio\b.*\b(get_writer|mimwrite|mimsave)\b|\bappend_data\(|\bmimsave\(",
    "torchvision.io.write_video": r"\bwrite_video\(",
    "diffusers export_to_video": r"\bexport_to_video\(",
    "PyAV": r"\bav\.open\(",
    "WebSocket": r"\bsend_bytes\(|\bwebsockets\b",
    "Socket.IO": r"\bsocketio\.emit\(",
    "WebRTC (aiortc)": r"\baiortc\b|\bVideoStreamTrack\b",
    "ffmpeg pipe": r"rawvideo",
    "moviepy": r"\bmoviepy\b",
}
"""What mgtop finds frames in by itself → how the source gives it away."""


class Option(msgspec.Struct, frozen=True):
    """An option of a program."""

    flag: str
    name: str
    default: Any
    """None: it has none, or the source does not say it plainly."""
    required: bool
    takes_value: bool
    about: str


class Script(msgspec.Struct, frozen=True):
    """A script that may be the entry."""

    path: Path
    score: int
    options: list[Option]

    def meaning(self, name: str) -> Option | None:
        """The option that a parameter of ours most likely is."""
        by_name = {option.name: option for option in self.options if option.takes_value}
        return next((by_name[one] for one in MEANINGS[name] if one in by_name), None)


def likely_scripts(folder: Path) -> list[Script]:
    """Scripts of a repository that look like its entry, the likeliest first."""
    found = [script for path in _python_files(folder) if (script := _script(folder, path))]
    return sorted(found, key=lambda script: (-script.score, str(script.path)))


def writers(folder: Path) -> list[str]:
    """What the repository's source seems to write or send its frames with."""
    patterns = {name: re.compile(pattern) for name, pattern in WRITERS.items()}
    found: set[str] = set()
    for path in _python_files(folder):
        text = _text(path)
        found |= {name for name, pattern in patterns.items() if pattern.search(text)}
    return [name for name in WRITERS if name in found]


def _python_files(folder: Path) -> Iterator[Path]:
    left = MOST_FILES
    for root, folders, files in os.walk(folder):
        depth = len(Path(root).relative_to(folder).parts)
        folders[:] = sorted(
            name
            for name in folders
            if depth < MOST_LEVELS and not name.startswith(".") and name not in _SKIPPED
        )
        for name in sorted(files):
            if name.endswith(".py") and left:
                left -= 1
                yield Path(root, name)


def _text(path: Path) -> str:
    if not path.is_file():  # a pipe is the program's to read
        return ""
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _script(folder: Path, path: Path) -> Script | None:
    text = _text(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # escapes in somebody else's strings
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    options = _options(tree)
    starts = any(_is_main(node) for node in tree.body)
    if not starts and not options:
        return None
    stem = path.stem.lower()
    script = Script(path.relative_to(folder), 0, options)
    score = 4 * starts + 2 * bool(options)
    score += 3 * sum(script.meaning(name) is not None for name in MEANINGS)
    score += 6 * bool(_NAMES.search(stem)) - 8 * bool(_NOT.search(stem))
    score -= 3 * (len(script.path.parts) - 1)
    return msgspec.structs.replace(script, score=score) if score > 0 else None


def _is_main(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and isinstance(node.test.left, ast.Name)
        and node.test.left.id == "__name__"
    )


def _options(tree: ast.Module) -> list[Option]:
    found: dict[str, Option] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in ("add_argument", "option"):
            option = _option(node)
            if option is not None:
                found.setdefault(option.name, option)
    return list(found.values())


def _called(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _option(node: ast.Call) -> Option | None:
    words = [_plain(word) for word in node.args]
    flags = [word for word in words if isinstance(word, str) and word.startswith("-")]
    if not flags:
        return None
    flag = max(flags, key=lambda word: (word.startswith("--"), len(word)))
    is_pair = "/" in flag  # click: --on/--off
    flag = flag.split("/")[0].strip()
    given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    plain = {name: _plain(value) for name, value in given.items()}
    name = plain.get("dest") or flag.lstrip("-").replace("-", "_")
    action = plain.get("action")
    takes_value = action in (None, "store") and plain.get("is_flag") is not True and not is_pair
    about = plain.get("help")
    return Option(
        flag=flag,
        name=str(name),
        default=plain.get("default"),
        required=plain.get("required") is True,
        takes_value=takes_value,
        about=" ".join(about.split()) if isinstance(about, str) else "",
    )


def _plain(node: ast.expr) -> Any:
    """The value that a literal is; None where it is computed."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, (str, int, float, bool, list, tuple)) else None
