"""The installed diffusers' own WanPipeline and LTXPipeline, with tiny random components.

``--repo`` is not used: the library is the one that is installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import torch
import wan_parts
import workplace
from witness import Witness


def text_encoder(folder: Path) -> tuple[object, object]:
    """A T5 of one layer and its tokenizer."""
    from transformers import AutoTokenizer, T5Config, T5EncoderModel

    wan_parts.write_tokenizer(folder)
    settings = T5Config(
        vocab_size=wan_parts.VOCABULARY, d_model=32, d_kv=8, d_ff=32, num_layers=1, num_heads=2
    )
    return T5EncoderModel(settings), AutoTokenizer.from_pretrained(folder)


def wan(folder: Path) -> object:
    """Wan of some thousand weights; its decoder makes 1 + 4 n pictures."""
    from diffusers import (
        AutoencoderKLWan,
        FlowMatchEulerDiscreteScheduler,
        WanPipeline,
        WanTransformer3DModel,
    )

    text, tokenizer = text_encoder(folder)
    return WanPipeline(
        tokenizer=tokenizer, text_encoder=text,
        vae=AutoencoderKLWan(
            base_dim=3, z_dim=16, dim_mult=[1, 1, 1, 1], num_res_blocks=1,
            temperal_downsample=[False, True, True],
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(shift=7.0),
        transformer=WanTransformer3DModel(
            patch_size=(1, 2, 2), num_attention_heads=2, attention_head_dim=12, in_channels=16,
            out_channels=16, text_dim=32, freq_dim=256, ffn_dim=32, num_layers=2,
            cross_attn_norm=True, qk_norm="rms_norm_across_heads", rope_max_seq_len=32,
        ),
    )  # fmt: skip


def ltx(folder: Path) -> object:
    """LTX of some thousand weights; its decoder makes 1 + 8 n pictures."""
    from diffusers import (
        AutoencoderKLLTXVideo,
        FlowMatchEulerDiscreteScheduler,
        LTXPipeline,
        LTXVideoTransformer3DModel,
    )

    text, tokenizer = text_encoder(folder)
    return LTXPipeline(
        tokenizer=tokenizer, text_encoder=text,
        transformer=LTXVideoTransformer3DModel(
            in_channels=8, out_channels=8, patch_size=1, patch_size_t=1, num_attention_heads=4,
            attention_head_dim=8, cross_attention_dim=32, num_layers=1, caption_channels=32,
        ),
        vae=AutoencoderKLLTXVideo(
            in_channels=3, out_channels=3, latent_channels=8, block_out_channels=(8, 8, 8, 8),
            decoder_block_out_channels=(8, 8, 8, 8), layers_per_block=(1, 1, 1, 1, 1),
            decoder_layers_per_block=(1, 1, 1, 1, 1),
            spatio_temporal_scaling=(True, True, True, False),
            decoder_spatio_temporal_scaling=(True, True, True, False),
            decoder_inject_noise=(False, False, False, False, False),
            upsample_residual=(False, False, False, False), upsample_factor=(1, 1, 1, 1),
            timestep_conditioning=False, patch_size=1, patch_size_t=1, encoder_causal=True,
            decoder_causal=False,
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(),
    )  # fmt: skip


def main() -> None:
    """Two requests to each of them, of 17 pictures."""
    given = workplace.arguments()
    given.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    pipelines = [wan(given.work / "wan"), ltx(given.work / "ltx")]
    witness = Witness()
    witness.request("diffusers/pipelines/wan/pipeline_wan.py", "WanPipeline.__call__")
    witness.request("diffusers/pipelines/ltx/pipeline_ltx.py", "LTXPipeline.__call__")
    witness.emit(
        "diffusers/video_processor.py",
        "VideoProcessor.postprocess_video",
        lambda result, frame: int(result.shape[1]),
    )
    witness.start()
    for pipeline in pipelines:
        for _ in range(2):
            pipeline(  # type: ignore[operator]
                prompt="word1 word2", negative_prompt="word3", height=64, width=64, num_frames=17,
                num_inference_steps=3, max_sequence_length=16, output_type="np",
            )  # fmt: skip
    witness.write(given.truth)


if __name__ == "__main__":
    main()
