"""Which driver brings which profile's project up, and how closely mgtop must agree with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DRIVERS = Path(__file__).with_name("drive")


@dataclass(frozen=True)
class Proof:
    """One project's control flow under one entry of its profile."""

    profile: str
    """``NAME:ENTRY``."""
    driver: str
    what: str
    """What ran, in a few words."""

    @property
    def name(self) -> str:
        """Of the project alone."""
        return self.profile.partition(":")[0]


PROOFS = (
    Proof("streamdiffusion:script", "streamdiffusion", "24 pictures through its pipeline"),
    Proof("streamdiffusion-v2:single", "streamdiffusion_v2", "streamv2v/inference.py"),
    Proof("matrix-game-2:streaming", "matrix_game_2", "inference_streaming.py, 3 actions typed"),
    Proof("matrix-game-2:inference", "matrix_game_2_inference", "inference.py, 9 latents"),
    Proof("self-forcing:inference", "self_forcing", "inference.py, 2 prompts of 6 latents"),
    Proof("self-forcing:demo", "self_forcing_demo", "demo.py and a viewer, 7 blocks"),
    Proof(
        "longlive:inference",
        "longlive",
        "inference.py, streaming_vae, 2 prompts",
    ),
    Proof("diffusers:script", "diffusers_video", "WanPipeline and LTXPipeline"),
    Proof("ltx-video:inference", "ltx_video", "inference.py, 17 pictures"),
    Proof("krea-realtime:server", "krea_realtime", "release_server.py and a viewer, 3 blocks"),
    Proof("wan2.2:ti2v", "wan22", "generate.py --task ti2v-5B, 9 pictures"),
)

MOST_MS = 15.0
"""First-frame latencies may differ by this much…"""
MOST_SHARE = 0.02
"""…or by this share, whichever is more: the first event in a process opens mgtop's pipe."""
EMIT_MS = 5.0
"""The median emit may be noted this much off; single ones more, where the machine is busy."""
