"""LongLive 2's ``inference.py`` as it stands, decoding as it goes, on tiny random weights."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import stand_in
import torch
import wan_parts
import workplace
from witness import Witness

NAME = "Wan2.2-TI2V-5B"
HEADS, WIDTH, PRUNED = 2, 24, 0.96875
LATENTS, BLOCK = 16, 8
CONFIGURATION = f"""\
model_kwargs:
  model_name: {NAME}
  timestep_shift: 5.0
  num_frame_per_block: {BLOCK}
  local_attn_size: 32
use_ema: false
output_folder: out
num_samples: 1
save_latents_only: false
data:
  data_path: prompts.txt
  image_or_video_shape: [1, {LATENTS}, 48, 4, 6]
inference:
  sampling_steps: 4
  sink_size: 8
  guidance_scale: 1.0
  multi_shot_sink: true
  multi_shot_rope_offset: 8
  streaming_vae: true
  async_vae: false
  vae_type: mg_lightvae
logging: {{seed: 0}}
"""


def prepare(work: Path) -> None:
    """Weights, prompts and configuration in the places where the program looks for them."""
    import utils.config as config
    import utils.lightvae_5b_wrapper as light
    import utils.wan_5b_wrapper as wrapper
    from wan_5b.modules.causal_model import CausalWanModel

    wan_parts.replace("wan_5b", "flash_attention", wan_parts.attention)
    wan_parts.shrink_text_encoder("wan_5b.modules.t5")
    wrapper.umt5_xxl = sys.modules["wan_5b.modules.t5"].umt5_xxl
    config.wan_default_config[NAME] |= {
        "num_heads": HEADS, "head_dim": WIDTH, "num_transformer_blocks": 1,
    }  # fmt: skip
    torch.manual_seed(0)
    folder = work / "wan_models" / NAME
    wan_parts.save_text_encoder("wan_5b.modules.t5", folder)
    model = CausalWanModel(
        model_type="ti2v", dim=HEADS * WIDTH, ffn_dim=32, num_heads=HEADS, num_layers=1,
        in_dim=48, out_dim=48,
    )  # fmt: skip
    wan_parts.wake(model)
    model.save_pretrained(folder)
    place = Path(vars(wrapper)["_MG_LIGHTVAE_DEFAULT_PATHS"]["mg_lightvae"])
    place.parent.mkdir(parents=True, exist_ok=True)
    torch.save(light.PrunableWanVAE(pruning_rate=PRUNED).state_dict(), place)
    (work / "prompts.txt").write_text("word1 word2\nword3\n", encoding="utf-8")
    (work / "tiny.yaml").write_text(CONFIGURATION, encoding="utf-8")


def main() -> None:
    """Two prompts of two blocks each."""
    given = workplace.arguments()
    os.environ |= {"LLV2_TRITON_ROPE": "0", "LLV2_TRITON_ADALN": "0"}  # these need a GPU
    stand_in.install()
    stand_in.one_precision()
    torch.set_num_threads(1)
    own = ("wan_models", "prompts.txt", "tiny.yaml", "out")
    workplace.enter(given.repo, given.work, own=own)
    prepare(Path())
    witness = Witness()
    witness.request(
        "pipeline/causal_diffusion_inference.py", "CausalDiffusionInferencePipeline.inference"
    )
    witness.emit(
        "utils/lightvae_5b_wrapper.py",
        "PrunableWanVAE.cached_decode",
        lambda result, frame: int(result.shape[2]),
    )
    witness.start()
    workplace.run_script(given.repo / "inference.py", ["--config_path", "tiny.yaml"])
    witness.write(given.truth)


if __name__ == "__main__":
    main()
