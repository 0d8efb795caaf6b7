"""StreamDiffusionV2's ``streamv2v/inference.py`` as it stands, on tiny random weights."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import stand_in
import torch
import wan_parts
import workplace
from witness import Witness

HEADS, WIDTH, LAYERS, DIM = 12, 12, 1, 8
HEIGHT, PICTURE_WIDTH, FRAMES = 96, 160, 33


def prepare(work: Path) -> None:
    """Weights, prompt and a video to start from."""
    from diffusers.utils import export_to_video
    from models.wan.causal_model import CausalWanModel

    base = "models.wan.wan_base.modules"
    wan_parts.replace("models", "flash_attention", wan_parts.attention)
    wan_parts.shrink_text_encoder(f"{base}.t5")
    wan_parts.shrink_video_vae(f"{base}.vae", dim=DIM)
    torch.manual_seed(0)
    folder = work / "wan_models" / "Wan2.1-T2V-1.3B"
    wan_parts.save_text_encoder(f"{base}.t5", folder)
    wan_parts.save_vae(f"{base}.vae", folder / "Wan2.1_VAE.pth", DIM)
    model = CausalWanModel(dim=HEADS * WIDTH, ffn_dim=32, num_heads=HEADS, num_layers=LAYERS)
    wan_parts.wake(model)
    model.save_pretrained(folder)
    (work / "ckpts").mkdir(exist_ok=True)
    torch.save({"generator": model.state_dict()}, work / "ckpts" / "model.pt")
    (work / "prompt.txt").write_text("word1 word2\n", encoding="utf-8")
    pictures = torch.rand(FRAMES, HEIGHT, PICTURE_WIDTH, 3).numpy()
    export_to_video(list(pictures), str(work / "input.mp4"), fps=16)


def main() -> None:
    """Thirty-three frames of input, in chunks of four."""
    given = workplace.arguments()
    stand_in.install()
    torch.set_num_threads(1)
    workplace.enter(given.repo, given.work, own=("prompt.txt", "wan_models", "ckpts", "out"))
    import os

    os.environ["STREAMDIFFUSIONV2_ROOT"] = str(Path.cwd())
    prepare(Path())
    stand_in.one_precision()
    from models.wan.causal_stream_inference import CausalStreamInferencePipeline as Pipeline

    wan_parts.shrink_caches(
        Pipeline, HEADS, WIDTH, LAYERS, ["_initialize_kv_cache", "_initialize_crossattn_cache"]
    )
    witness = Witness()
    witness.request("streamv2v/inference.py", "SingleGPUInferencePipeline.run_inference")
    witness.emit(
        "models/wan/wan_wrapper.py",
        "WanVAEWrapper.stream_decode_to_pixel",
        lambda result, frame: int(result.shape[1]),
    )
    witness.start()
    words = ["--config_path", "configs/wan_causal_dmd_v2v.yaml", "--checkpoint_folder", "ckpts"]
    words += ["--output_folder", "out", "--prompt_file_path", "prompt.txt"]
    words += ["--video_path", "input.mp4", "--height", str(HEIGHT)]
    words += ["--width", str(PICTURE_WIDTH), "--step", "2"]
    workplace.run_script(given.repo / "streamv2v" / "inference.py", words)
    witness.write(given.truth)


if __name__ == "__main__":
    main()
