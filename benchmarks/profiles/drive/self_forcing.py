"""Self-Forcing's ``inference.py`` as it stands, with a tiny model of random weights."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import stand_in
import torch
import wan_parts
import workplace
from witness import Witness

HEADS, WIDTH, LAYERS = 2, 24, 1
DIM = 4
LATENTS = 6


def prepare(work: Path) -> None:
    """Weights, tokenizer and prompts in the places where the project looks for them."""
    import wan.modules.causal_model as causal

    wan_parts.replace("wan", "flash_attention", wan_parts.attention)
    wan_parts.shrink_text_encoder("wan.modules.t5")
    wan_parts.shrink_video_vae("wan.modules.vae", dim=DIM)
    torch.manual_seed(0)
    folder = work / "wan_models" / "Wan2.1-T2V-1.3B"
    wan_parts.save_text_encoder("wan.modules.t5", folder)
    wan_parts.save_vae("wan.modules.vae", folder / "Wan2.1_VAE.pth", DIM)
    model = causal.CausalWanModel(dim=HEADS * WIDTH, ffn_dim=32, num_heads=HEADS, num_layers=LAYERS)
    wan_parts.wake(model)
    model.save_pretrained(folder)
    (work / "prompts.txt").write_text("word1 word2\nword3\n", encoding="utf-8")


def main() -> None:
    """Two prompts of six latents each."""
    given = workplace.arguments()
    stand_in.install()
    torch.set_num_threads(1)
    workplace.enter(given.repo, given.work, own=("prompts.txt", "wan_models", "outputs"))
    prepare(Path())
    import pipeline

    wan_parts.shrink_caches(
        pipeline.CausalInferencePipeline, HEADS, WIDTH, LAYERS,
        ["_initialize_kv_cache", "_initialize_crossattn_cache"],
    )  # fmt: skip
    witness = Witness()
    witness.request("pipeline/causal_inference.py", "CausalInferencePipeline.inference")
    witness.emit(
        "utils/wan_wrapper.py",
        "WanVAEWrapper.decode_to_pixel",
        lambda result, frame: int(result.shape[1]),
    )
    witness.start()
    words = ["--config_path", "configs/self_forcing_dmd.yaml", "--output_folder", "outputs"]
    words += ["--data_path", "prompts.txt", "--num_output_frames", str(LATENTS)]
    workplace.run_script(given.repo / "inference.py", words)
    witness.write(given.truth)


if __name__ == "__main__":
    main()
