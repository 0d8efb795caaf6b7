"""A CPU under the name of a GPU, for programs that insist on one.

``torch.device("cuda")`` can be named without a GPU, but nothing can be put there. Here every
function that takes a device takes the CPU instead. The programs' own files stay as they are.
"""

from __future__ import annotations

import functools
import importlib
import io
import time
from typing import Any

import torch

_FREE = 80 << 30
_MAKERS = (
    "arange", "as_tensor", "empty", "empty_like", "eye", "full", "full_like", "linspace", "ones",
    "ones_like", "rand", "rand_like", "randint", "randn", "randn_like", "tensor", "zeros",
    "zeros_like", "randperm",
)  # fmt: skip


def install() -> None:
    """Have everything that asks for a GPU get the CPU."""
    for name in _MAKERS:
        setattr(torch, name, _on_cpu(getattr(torch, name)))
    for name in ("to", "new_zeros", "new_ones", "new_empty", "new_full", "new_tensor"):
        setattr(torch.Tensor, name, _on_cpu(getattr(torch.Tensor, name)))
    torch.Tensor.cuda = lambda self, *args, **kwargs: self
    torch.Tensor.pin_memory = lambda self, *args, **kwargs: self
    torch.nn.Module.cuda = lambda self, *args, **kwargs: self
    torch.load = _load(torch.load)
    torch.Generator = _generator(torch.Generator)
    cuda: Any = torch.cuda
    cuda.current_device = lambda: 0
    cuda.device_count = lambda: 1
    cuda.set_device = lambda device: None
    cuda.get_device_name = lambda device=None: "none (CPU)"
    cuda.get_device_capability = lambda device=None: (8, 0)
    cuda.mem_get_info = lambda device=None: (_FREE, _FREE)
    cuda.memory_stats = lambda device=None: {
        "active_bytes.all.current": 0,
        "reserved_bytes.all.current": 0,
    }
    for name in ("empty_cache", "synchronize", "ipc_collect", "reset_peak_memory_stats"):
        setattr(cuda, name, lambda *args, **kwargs: None)
    for name in ("memory_allocated", "memory_reserved", "max_memory_allocated"):
        setattr(cuda, name, lambda *args, **kwargs: 0)
    cuda.Event, cuda.Stream, cuda.device, cuda.stream = Event, Stream, Nothing, Nothing
    cuda.current_stream = cuda.default_stream = lambda device=None: Stream()


def one_precision() -> None:
    """Have half precision mean single precision, which a CPU computes faster.

    Libraries that keep tables of types are imported first; the project's modules come after.
    """
    for library in ("safetensors.torch", "transformers", "diffusers", "diffusers.models"):
        importlib.import_module(library)
    file = io.BytesIO()
    torch.save(torch.zeros(1), file)
    file.seek(0)
    torch.load(file)  # fills torch's own tables
    torch.bfloat16 = torch.float16 = torch.half = torch.float32
    torch.Tensor.half = torch.Tensor.bfloat16 = torch.Tensor.float
    torch.nn.Module.half = torch.nn.Module.bfloat16 = torch.nn.Module.float


def weights_on_cpu() -> None:
    """Files of weights that are asked for on a GPU are read onto the CPU."""
    import safetensors.torch as files

    load = files.load_file
    files.load_file = lambda file, device="cpu": load(file)


def cpu(value: Any) -> Any:
    """The CPU where a GPU is named; everything else as it is."""
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return torch.device("cpu")
    return value


def _on_cpu(function: Any) -> Any:
    @functools.wraps(function)
    def instead(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("pin_memory", None)
        if "device" in kwargs:
            device = kwargs["device"]
            number = isinstance(device, int) and not isinstance(device, bool)
            kwargs["device"] = "cpu" if number else cpu(device)
        if function.__name__ == "to":  # an index alone is a GPU's
            args = tuple("cpu" if type(arg) is int else cpu(arg) for arg in args)
        return function(*args, **kwargs)

    return instead


def _load(load: Any) -> Any:
    @functools.wraps(load)
    def instead(*args: Any, map_location: Any = None, **kwargs: Any) -> Any:
        return load(*args, map_location="cpu", **kwargs)

    return instead


def _generator(kind: Any) -> Any:
    def instead(device: Any = "cpu") -> Any:
        return kind("cpu")

    return instead


class Event:
    """An event of a stream that has nothing to wait for."""

    def __init__(self, enable_timing: bool = False, **_: Any) -> None:
        self.t_s = 0.0

    def record(self, stream: Any = None) -> None:
        """Take the time."""
        self.t_s = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds until another one."""
        return 1e3 * (end.t_s - self.t_s)

    def synchronize(self) -> None:
        """There is nothing to wait for."""

    def query(self) -> bool:
        """It has come to pass."""
        return True

    def wait(self, stream: Any = None) -> None:
        """There is nothing to wait for."""


class Stream:
    """The one order of things that a CPU has."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def wait_event(self, event: Any) -> None:
        """There is nothing to wait for."""

    def wait_stream(self, stream: Any) -> None:
        """There is nothing to wait for."""

    def synchronize(self) -> None:
        """There is nothing to wait for."""

    def record_event(self, event: Any = None) -> Event:
        """An event, now."""
        event = event or Event()
        event.record()
        return event


class Nothing:
    """A context that changes nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __enter__(self) -> Nothing:
        return self

    def __exit__(self, *error: object) -> None: ...
