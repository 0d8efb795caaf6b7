"""Matrix-Game-2's ``inference_streaming.py`` as it stands, with a tiny model of random weights.

Somebody answers its questions, and thinks before each answer. Its image
encoder is a
table of random numbers; the loop over blocks, model, caches and decoder are the project's own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import stand_in
import torch
import wan_parts
import workplace
from answers import Answers
from witness import Witness

HEADS, WIDTH, LAYERS, DIM = 2, 24, 1, 4
LATENTS, BLOCK = 9, 3
THINKS_S = 0.2
OWN = ("weights", "tiny", "tiny.yaml", "outputs")
PICTURE = "demo_images/universal/0000.png"
ACTIONS = {
    "blocks": [0], "enable_keyboard": True, "enable_mouse": True, "heads_num": HEADS,
    "hidden_size": 16, "img_hidden_size": HEADS * WIDTH, "keyboard_dim_in": 4, "mouse_dim_in": 2,
    "keyboard_hidden_dim": HEADS * 64, "mouse_hidden_dim": HEADS * 64,
    "mouse_qk_dim_list": [8, 28, 28], "rope_dim_list": [8, 28, 28], "patch_size": [1, 2, 2],
    "qk_norm": True, "qkv_bias": False, "rope_theta": 256, "vae_time_compression_ratio": 4,
    "windows_size": 3,
}  # fmt: skip


class Clip(torch.nn.Module):
    """In the place of an image encoder of 630 million weights."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(1, 257, 1280))

    def encode_video(self, image: torch.Tensor) -> torch.Tensor:
        """What the program conditions on: [batch, tokens, width]."""
        return self.table.expand(image.shape[0], -1, -1)


def prepare(work: Path) -> None:
    """Weights and configuration in the places where the program is told to look."""
    import demo_utils.vae_block3 as block3
    import pipeline  # noqa: F401
    import wan.vae.wanx_vae as wanx
    import wan.vae.wanx_vae_src.vae as vae

    wan_parts.replace("wan", "flash_attention", wan_parts.attention)
    wan_parts.small_defaults(vae.VideoVAE_, dim=DIM)
    wan_parts.small_defaults(block3.VAEDecoder3d, dim=DIM)
    wanx.CLIPModel = Clip
    torch.manual_seed(0)
    (work / "weights").mkdir(exist_ok=True)
    torch.save(vae.VideoVAE_(z_dim=16).state_dict(), work / "weights" / "Wan2.1_VAE.pth")
    model = {
        "_class_name": "CausalWanModel", "model_type": "i2v", "dim": HEADS * WIDTH, "ffn_dim": 32,
        "num_heads": HEADS, "num_layers": LAYERS, "in_dim": 36, "out_dim": 16,
        "local_attn_size": 6, "action_config": ACTIONS,
    }  # fmt: skip
    (work / "tiny").mkdir(exist_ok=True)
    (work / "tiny" / "config.json").write_text(json.dumps(model), encoding="utf-8")
    settings = (work / "configs/inference_yaml/inference_universal.yaml").read_text("utf-8")
    settings = settings.replace("configs/distilled_model/universal", "tiny")
    (work / "tiny.yaml").write_text(settings, encoding="utf-8")


def small_caches(pipeline: type) -> None:
    """A pipeline's caches, in the tiny model's widths."""
    names = ["_initialize_kv_cache", "_initialize_kv_cache_mouse_and_keyboard"]
    wan_parts.shrink_caches(pipeline, HEADS, WIDTH, LAYERS, [*names, "_initialize_crossattn_cache"])


def blocks(witness: Witness) -> None:
    """What comes out of the decoder is a block."""
    witness.emit(
        "demo_utils/vae_block3.py",
        "VAEDecoderWrapper.forward",
        lambda result, frame: int(result[0].shape[1]),
    )


def main() -> None:
    """Three blocks of three latents, one request."""
    given = workplace.arguments()
    stand_in.install()
    torch.set_num_threads(1)
    wan_parts.flash_attn_of_torch()
    workplace.enter(given.repo, given.work, own=OWN)
    prepare(Path())
    stand_in.one_precision()
    import pipeline

    small_caches(pipeline.CausalInferenceStreamingPipeline)
    lines = [PICTURE]
    for _ in range(LATENTS // BLOCK):
        lines += ["u", "w", ""]
    sys.stdin = answers = Answers([*lines, "n"], THINKS_S)
    witness = Witness()
    witness.request("pipeline/causal_inference.py", "CausalInferenceStreamingPipeline.inference")
    blocks(witness)
    witness.start()
    words = ["--config_path", "tiny.yaml", "--pretrained_model_path", "weights"]
    words += ["--max_num_output_frames", str(LATENTS), "--output_folder", "outputs"]
    workplace.run_script(given.repo / "inference_streaming.py", words)
    for begun, done in answers.waited:
        witness.events.append({"what": "wait", "t_ns": begun, "until_ns": done})
    witness.write(given.truth)


if __name__ == "__main__":
    main()
