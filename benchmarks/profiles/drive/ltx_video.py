"""LTX-Video's ``inference.py`` as it stands, on a tiny checkpoint of random weights."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import torch
import wan_parts
import workplace
from witness import Witness

CHANNELS = 16
FRAMES = 17
TRANSFORMER = {
    "activation_fn": "gelu-approximate", "attention_bias": True, "attention_head_dim": 12,
    "attention_type": "default", "caption_channels": 32, "cross_attention_dim": 48,
    "double_self_attention": False, "dropout": 0.0, "in_channels": CHANNELS,
    "norm_elementwise_affine": False, "norm_eps": 1e-06, "norm_num_groups": 32,
    "num_attention_heads": 4, "num_embeds_ada_norm": 1000, "num_layers": 1,
    "num_vector_embeds": None, "only_cross_attention": False, "out_channels": CHANNELS,
    "upcast_attention": False, "use_linear_projection": False, "qk_norm": "rms_norm",
    "standardization_norm": "rms_norm", "positional_embedding_type": "rope",
    "positional_embedding_theta": 10000.0, "positional_embedding_max_pos": [120, 1, 1],
    "timestep_scale_multiplier": 1000,
}  # fmt: skip


def prepare(work: Path) -> None:
    """A checkpoint, a text encoder and a configuration, in files as the real ones."""
    import safetensors.torch
    from ltx_video.models.autoencoders import causal_video_autoencoder as autoencoder
    from ltx_video.models.transformers.transformer3d import Transformer3DModel
    from transformers import T5Config, T5EncoderModel

    torch.manual_seed(0)
    settings = autoencoder.create_video_autoencoder_demo_config(latent_channels=CHANNELS)
    vae = autoencoder.CausalVideoAutoencoder.from_config(settings)
    state = {
        f"model.diffusion_model.{name}": value
        for name, value in Transformer3DModel.from_config(TRANSFORMER).state_dict().items()
    }
    weights = vae.state_dict()
    for name in ("std-of-means", "mean-of-means"):
        weights[f"{autoencoder.PER_CHANNEL_STATISTICS_PREFIX}{name}"] = torch.rand(CHANNELS)
    state |= {f"vae.{name}": value for name, value in weights.items()}
    told = {"transformer": TRANSFORMER, "vae": vars(vae.config), "scheduler": SCHEDULER}
    safetensors.torch.save_file(state, "tiny.safetensors", metadata={"config": json.dumps(told)})
    text = T5EncoderModel(
        T5Config(
            vocab_size=wan_parts.VOCABULARY, d_model=32, d_kv=8, d_ff=32, num_layers=1, num_heads=2
        )
    )
    text.save_pretrained(work / "text" / "text_encoder")
    wan_parts.write_tokenizer(work / "text" / "tokenizer")
    (work / "tiny.yaml").write_text(CONFIGURATION, encoding="utf-8")


SCHEDULER = {
    "_class_name": "RectifiedFlowScheduler", "num_train_timesteps": 1000, "shifting": None,
    "base_resolution": None, "sampler": "LinearQuadratic",
}  # fmt: skip
CONFIGURATION = """\
pipeline_type: base
checkpoint_path: tiny.safetensors
guidance_scale: 3
stg_scale: 1
rescaling_scale: 0.7
skip_block_list: [0]
num_inference_steps: 3
stg_mode: attention_values
decode_timestep: 0.05
decode_noise_scale: 0.025
text_encoder_model_name_or_path: text
precision: bfloat16
sampler: uniform
prompt_enhancement_words_threshold: 0
prompt_enhancer_image_caption_model_name_or_path: none
prompt_enhancer_llm_model_name_or_path: none
stochastic_sampling: false
"""


def main() -> None:
    """One request of seventeen pictures."""
    given = workplace.arguments()
    torch.set_num_threads(1)
    workplace.enter(given.repo, given.work, own=("tiny.yaml", "tiny.safetensors", "text", "out"))
    from transformers import AutoTokenizer, T5Tokenizer

    T5Tokenizer.from_pretrained = lambda path, subfolder: AutoTokenizer.from_pretrained(
        Path(path, subfolder)
    )  # the tiny one has no sentencepiece file
    prepare(Path())
    witness = Witness()
    witness.request("pipelines/pipeline_ltx_video.py", "LTXVideoPipeline.__call__")
    witness.emit(
        "models/autoencoders/vae_encode.py",
        "vae_decode",
        lambda result, frame: int(result.shape[2]),
    )
    witness.start()
    words = ["--prompt", "word1 word2", "--height", "64", "--width", "64", "--num_frames"]
    words += [str(FRAMES), "--pipeline_config", "tiny.yaml", "--output_path", "out"]
    workplace.run_script(given.repo / "inference.py", words)
    witness.write(given.truth)


if __name__ == "__main__":
    main()
