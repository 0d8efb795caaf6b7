"""A project nobody changed, run with a profile: its hooks tell of its blocks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROFILE = """\
title: Tiny
source: here
recognise:
  - tiny_model.py: "^class Decoder"
entries:
  run:
    about: it runs
    command: [python, infer.py, --blocks, "{blocks}"]
    params: {blocks: 4, fps: 16}
    frames:
      hooks:
        - {target: "tiny_model:Pipeline.run", event: request_received}
        - target: "tiny_model:Decoder.decode"
          event: frame_emit
          span: vae_decode
          count: "len(result)"
    blocks: {first: 9, then: 12}
"""
MODEL = """
import time

class Decoder:
    def decode(self, latents, first):
        time.sleep(0.02)
        return [0] * (1 + 4 * (latents - 1) if first else 4 * latents)

class Pipeline:
    def __init__(self):
        self.decoder = Decoder()

    def run(self, blocks):
        return [self.decoder.decode(3, n == 0) for n in range(blocks)]
"""
INFER = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--blocks", type=int)
from tiny_model import Pipeline
Pipeline().run(parser.parse_args().blocks)
"""


@pytest.mark.e2e
def test_a_profile_finds_the_blocks_of_a_project_without_a_file_of_ours(tmp_path: Path) -> None:
    own = tmp_path / "config" / "mgtop" / "profiles"
    own.mkdir(parents=True)
    (own / "tiny.yaml").write_text(PROFILE, encoding="utf-8")
    project = tmp_path / "project"
    project.mkdir()
    (project / "tiny_model.py").write_text(MODEL, encoding="utf-8")
    (project / "infer.py").write_text(INFER, encoding="utf-8")
    environment = dict(os.environ, XDG_CONFIG_HOME=str(tmp_path / "config"))

    def mgtop(*words: str) -> str:
        command = [sys.executable, "-m", "mgtop", *words]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    out = str(tmp_path / "session")
    mgtop(
        *("run", str(project), "--profile", "tiny", "--set", "params.blocks=5"),
        *("--set", f"python={sys.executable}", "--headless", "--out", out),
    )
    report = json.loads(mgtop("report", out, "--json"))
    [request] = report["requests"]
    assert (request["frames"], request["blocks"]) == (9 + 4 * 12, 5)
    assert request["first_frame_ms"] >= 20
    assert report["target"]["route"] == "hooks"
    assert report["session"]["params"]["blocks"] == 5
    assert {path.name for path in project.iterdir()} - {"__pycache__"} == {
        "tiny_model.py",
        "infer.py",
    }
