"""Events as bytes: fixed-width msgpack written by ``struct``, and a tiny encoder for the rest.

A message is ``MAGIC``, the payload's length (``u16``, big endian), the payload (a msgpack array
``[tag, t_ns, seq, proc, tid, …]``) and zero padding to a multiple of 64 bytes. Integers have a
fixed width, so that one ``Struct.pack`` writes a whole message; a value that is not available is
``nil``. The reader's side is ``mgtop/wire/records.py``, and a test holds the two together.
"""

from __future__ import annotations

from struct import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Union

MAGIC = b"\xc1mg1"
HEADER = len(MAGIC) + 2
ALIGN = 64
MAX_MESSAGE = 4096
MAX_PAYLOAD = MAX_MESSAGE - HEADER

(
    HELLO, PULSE, NAME, REQUEST_RECEIVED, PREPROCESS_DONE, FRAME_EMIT, STREAM_END, SPAN, LOAD,
    QUEUE, MARK, WAIT, GARBAGE_COLLECTION, TORCH_MEMORY, COMPILE, GPU_WORK, FAILURE, DELIVERY,
    NOTICE, ACTION,
) = range(1, 21)  # fmt: skip
TORCH_ALLOCATOR, SEGMENT_MAP, SINK = 21, 22, 23

NIL = 0xC0
_UINT64 = 0xCF

_TYPE_BYTES: Dict[str, bytes] = {"Q": b"\xcf", "I": b"\xce", "i": b"\xd2", "H": b"\xcd", "B": b""}


def padded(length: int) -> int:
    """The size of a message whose payload has ``length`` bytes."""
    return -(-(HEADER + length) // ALIGN) * ALIGN


def identity(proc: int, tid: int) -> bytes:
    """``proc`` and ``tid`` as they stand in every event of one thread."""
    return b"\xcf" + proc.to_bytes(8, "big") + b"\xce" + (tid & 0xFFFFFFFF).to_bytes(4, "big")


def _array_header(length: int) -> bytes:
    return bytes([0x90 | length]) if length < 16 else b"\xdc" + length.to_bytes(2, "big")


class Layout:
    """The bytes of one kind of event whose fields all have a fixed width.

    ``fields`` has one letter for each: ``Q`` u64, ``I`` u32, ``i`` i32, ``H`` u16, ``B`` a number
    below 128 in one byte, ``n`` nil (takes no value).
    """

    def __init__(self, tag: int, fields: str) -> None:
        head = _array_header(5 + len(fields)) + bytes([tag]) + b"\xcf"
        runs: List[bytes] = []
        codes = ""
        run = b""
        for field in fields:
            if field == "n":
                run += bytes([NIL])
                continue
            runs.append(run + _TYPE_BYTES[field])
            codes += "%ds%s" % (len(runs[-1]), field)
            run = b""
        codes = ">%%dsQBQ14s%s%ds" % (codes, len(run))
        length = Struct(codes % len(head)).size
        self.head: bytes = MAGIC + length.to_bytes(2, "big") + head
        self.size: int = padded(length)
        codes = codes % len(self.head)
        codes += "%dx" % (self.size - Struct(codes).size)
        self._runs = runs
        self._tail = run
        self._pack = Struct(codes).pack

    def pack(self, who: bytes, t_ns: int, seq: int, *values: int) -> bytes:
        """One message. Raises ``struct.error`` where a value does not fit its field."""
        arguments: List[Union[int, bytes]] = []
        for run, value in zip(self._runs, values):  # noqa: B905 (Python 3.8)
            arguments += (run, value)
        return self._pack(self.head, t_ns, _UINT64, seq, who, *arguments, self._tail)


PULSE_LAYOUT = Layout(PULSE, "QQQ")
PREPROCESS_DONE_LAYOUT = Layout(PREPROCESS_DONE, "I")
STREAM_END_LAYOUT = Layout(STREAM_END, "II")
STREAM_END_UNCOUNTED_LAYOUT = Layout(STREAM_END, "In")
QUEUE_LAYOUT = Layout(QUEUE, "HIIQ")
WAIT_LAYOUT = Layout(WAIT, "Q")
GARBAGE_COLLECTION_LAYOUT = Layout(GARBAGE_COLLECTION, "QB")
TORCH_MEMORY_LAYOUT = Layout(TORCH_MEMORY, "IIBQQQIIIIIQQ")
GPU_WORK_LAYOUT = Layout(GPU_WORK, "IIQQI")
DELIVERY_LAYOUT = Layout(DELIVERY, "IQQQ")

_SPAN_SHORT = "IiHQnn"
_SPAN_CPU = "IiHQQnQ"
_SPAN_FULL = "IiHQQQQQ"
SPAN_CPU_LAYOUT = Layout(SPAN, _SPAN_CPU)
SPAN_FULL_LAYOUT = Layout(SPAN, _SPAN_FULL)


def _span_packer() -> Callable[[bytes, int, int, int, int, int, int], bytes]:
    """``Layout.pack`` of a short span, written out: it is on the hot path."""
    layout = Layout(SPAN, _SPAN_SHORT)
    head, pack = layout.head, layout._pack  # noqa: SLF001

    def pack_span(
        who: bytes, t_ns: int, seq: int, request: int, index: int, name: int, duration_ns: int
    ) -> bytes:
        return pack(
            head, t_ns, 0xCF, seq, who, b"\xce", request, b"\xd2", index, b"\xcd", name,
            b"\xcf", duration_ns, b"\xc0\xc0",
        )  # fmt: skip

    return pack_span


def _frame_packer() -> Callable[..., bytes]:
    """``Layout.pack`` of a frame with all its context, written out: it is on the hot path."""
    layout = Layout(FRAME_EMIT, FRAME_FIELDS + "QQQQQQQ")
    head, pack = layout.head, layout._pack  # noqa: SLF001

    def pack_frame(
        who: bytes, t_ns: int, seq: int, request: int, index: int, emit: int, count: int,
        route: int, cpu_ns: int, run_delay_ns: int, major_faults: int, voluntary: int,
        involuntary: int, gc_ns: int, compiles: int,
    ) -> bytes:  # fmt: skip
        return pack(
            head, t_ns, 0xCF, seq, who, b"\xce", request, b"\xd2", index, b"\xce", emit,
            b"\xce", count, b"", route, b"\xcf", cpu_ns, b"\xcf", run_delay_ns,
            b"\xcf", major_faults, b"\xcf", voluntary, b"\xcf", involuntary, b"\xcf", gc_ns,
            b"\xcf", compiles, b"",
        )  # fmt: skip

    return pack_frame


FRAME_FIELDS = "IiIIB"
pack_span: Callable[[bytes, int, int, int, int, int, int], bytes] = _span_packer()
pack_frame: Callable[..., bytes] = _frame_packer()

_frame_layouts: Dict[str, Layout] = {}


def pack_frame_partly(
    who: bytes, t_ns: int, seq: int, frame: Tuple[int, ...], context: Iterable[Optional[int]]
) -> bytes:
    """A frame where some of the context is not available here (``None``)."""
    values = [value for value in context if value is not None]
    fields = FRAME_FIELDS + "".join("n" if value is None else "Q" for value in context)
    layout = _frame_layouts.get(fields)
    if layout is None:
        layout = _frame_layouts[fields] = Layout(FRAME_EMIT, fields)
    return layout.pack(who, t_ns, seq, *frame, *values)


# ------------------------------------------------- rare events, of any length


def message(tag: int, who: bytes, t_ns: int, seq: int, *fields: object) -> bytes:
    """One message of an event with texts or parameters.

    Raises:
        ValueError: it would be longer than a FIFO writes in one piece.
    """
    payload = bytearray(_array_header(5 + len(fields)))
    payload.append(tag)
    payload += b"\xcf" + t_ns.to_bytes(8, "big") + b"\xcf" + seq.to_bytes(8, "big") + who
    for field in fields:
        encode(field, payload)
    if len(payload) > MAX_PAYLOAD:
        raise ValueError("the event is longer than %d bytes" % MAX_PAYLOAD)
    start = MAGIC + len(payload).to_bytes(2, "big") + payload
    return bytes(start) + bytes(padded(len(payload)) - len(start))


def clip(text: str, size: int) -> str:
    """``text``, cut to ``size`` bytes of UTF-8 where it is longer."""
    data = text.encode("utf-8", "replace")
    return data[:size].decode("utf-8", "ignore")


def encode(value: object, into: bytearray) -> None:
    """Append ``value`` as msgpack: None, bool, int, float, str, list, tuple, dict.

    Anything else is named by its type only: asking it for its value might be slow, or wait
    for a GPU.
    """
    if value is None:
        into.append(NIL)
    elif isinstance(value, bool):
        into.append(0xC3 if value else 0xC2)
    elif isinstance(value, int):
        _encode_int(int(value), into)
    elif isinstance(value, float):
        into += b"\xcb" + _DOUBLE(value)
    elif isinstance(value, str):
        _encode_text(value, into)
    elif isinstance(value, (list, tuple)):
        into += b"\xdc" + len(value).to_bytes(2, "big")
        for item in value:
            encode(item, into)
    elif isinstance(value, dict):
        into += b"\xde" + len(value).to_bytes(2, "big")
        for key, item in value.items():
            _encode_text(key if isinstance(key, str) else str(key), into)
            encode(item, into)
    elif hasattr(type(value), "__fspath__"):
        _encode_text(str(value), into)
    elif type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        encode(value.item(), into)  # type: ignore[attr-defined]
    else:
        _encode_text("<%s>" % type(value).__name__, into)


_DOUBLE = Struct(">d").pack


def _encode_int(value: int, into: bytearray) -> None:
    if 0 <= value < 128:
        into.append(value)
    elif 0 <= value < 1 << 64:
        into += b"\xcf" + value.to_bytes(8, "big")
    elif -(1 << 63) <= value < 0:
        into += b"\xd3" + value.to_bytes(8, "big", signed=True)
    else:
        _encode_text(str(value), into)


def _encode_text(text: str, into: bytearray) -> None:
    data = text.encode("utf-8", "replace")
    into += b"\xda" + len(data).to_bytes(2, "big") + data


def fitting(params: Mapping[str, object], size: int) -> Dict[str, object]:
    """As many of ``params``, in their order, as take at most ``size`` bytes.

    Long texts are cut; a parameter that does not fit or cannot be told is left out.
    """
    kept: Dict[str, object] = {}
    for key, value in params.items():
        if isinstance(value, str):
            value = clip(value, 256)
        encoded = bytearray()
        try:
            encode(key, encoded)
            encode(value, encoded)
        except (ValueError, OverflowError, RecursionError):
            continue
        if len(encoded) <= size:
            size -= len(encoded)
            kept[key] = value
    return kept
