"""StreamDiffusion's own pipeline in the loop of its examples, over a tiny Stable Diffusion."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import stand_in
import torch
import wan_parts
import workplace
from witness import Witness

FRAMES, SIZE = 24, 64


def tiny_pipeline(folder: Path) -> object:
    """Stable Diffusion of a few thousand random weights."""
    from diffusers import (
        AutoencoderKL,
        DDIMScheduler,
        StableDiffusionPipeline,
        UNet2DConditionModel,
    )
    from transformers import AutoTokenizer, CLIPTextConfig, CLIPTextModel

    torch.manual_seed(0)
    unet = UNet2DConditionModel(
        block_out_channels=(8, 16), layers_per_block=1, sample_size=SIZE // 8,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), norm_num_groups=4,
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), cross_attention_dim=32,
        attention_head_dim=2,
    )  # fmt: skip
    vae = AutoencoderKL(
        block_out_channels=[8, 16, 16, 16], latent_channels=4, norm_num_groups=4,
        down_block_types=["DownEncoderBlock2D"] * 4, up_block_types=["UpDecoderBlock2D"] * 4,
    )  # fmt: skip
    text = CLIPTextModel(
        CLIPTextConfig(
            hidden_size=32,
            intermediate_size=32,
            num_attention_heads=2,
            num_hidden_layers=1,
            vocab_size=wan_parts.VOCABULARY,
            max_position_embeddings=77,
        )
    )
    wan_parts.write_tokenizer(folder / "tokenizer")
    tokenizer = AutoTokenizer.from_pretrained(folder / "tokenizer", model_max_length=77)
    return StableDiffusionPipeline(
        vae=vae, text_encoder=text, tokenizer=tokenizer, unet=unet, scheduler=DDIMScheduler(),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    )  # fmt: skip


def main() -> None:
    """A prepare, then a picture in and a picture out, as often as there are frames."""
    given = workplace.arguments()
    stand_in.install()
    torch.set_num_threads(1)
    workplace.enter(given.repo, given.work, own=("tokenizer",))
    sys.path.insert(0, str(given.repo / "src"))
    from streamdiffusion import StreamDiffusion

    witness = Witness()
    witness.request("streamdiffusion/pipeline.py", "StreamDiffusion.prepare")
    witness.emit(
        "streamdiffusion/pipeline.py",
        "StreamDiffusion.__call__",
        lambda result, frame: int(result.shape[0]),
    )
    stream = StreamDiffusion(
        tiny_pipeline(Path()), t_index_list=[32, 45], torch_dtype=torch.float32,
        width=SIZE, height=SIZE, cfg_type="none",
    )  # fmt: skip
    pictures = torch.rand(FRAMES, 3, SIZE, SIZE)
    witness.start()
    stream.prepare("word1 word2", num_inference_steps=50, guidance_scale=1.0)
    for picture in pictures:
        stream(picture[None])
    witness.write(given.truth)


if __name__ == "__main__":
    main()
