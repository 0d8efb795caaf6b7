"""Wan 2.2's ``generate.py --task ti2v-5B`` as it stands, on tiny random weights."""

from __future__ import annotations

import sys
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import stand_in
import torch
import wan_parts
import workplace
from witness import Witness

HEADS, WIDTH, DIM = 2, 24, 4
FRAMES = 9


def leave_out() -> None:
    """Speech and animation, which the package imports always, need more than this venv has."""
    for name, kind in (("speech2video", "WanS2V"), ("animate", "WanAnimate")):
        module = types.ModuleType(f"wan.{name}")
        setattr(module, kind, type(kind, (), {}))
        sys.modules[f"wan.{name}"] = module


def prepare(work: Path) -> None:
    """Weights in the places where the program looks for them."""
    import wan.modules.vae2_2 as vae
    from wan.modules.model import WanModel

    wan_parts.replace("wan", "flash_attention", wan_parts.attention)
    wan_parts.shrink_text_encoder("wan.modules.t5")
    wan_parts.small_defaults(vae.Wan2_2_VAE, c_dim=DIM)
    wan_parts.small_defaults(vae.WanVAE_, dec_dim=DIM)
    torch.manual_seed(0)
    folder = work / "weights"
    wan_parts.save_text_encoder("wan.modules.t5", folder)
    decoder = vae.WanVAE_(
        dim=DIM, z_dim=48, dim_mult=[1, 2, 4, 4], num_res_blocks=2, attn_scales=[],
        temperal_downsample=[False, True, True], dropout=0.0,
    )  # fmt: skip
    torch.save(decoder.state_dict(), folder / "Wan2.2_VAE.pth")
    model = WanModel(
        model_type="ti2v", dim=HEADS * WIDTH, ffn_dim=32, num_heads=HEADS, num_layers=1,
        in_dim=48, out_dim=48,
    )  # fmt: skip
    wan_parts.wake(model)
    model.save_pretrained(folder)


def main() -> None:
    """One request of nine pictures in the only size that the task takes."""
    given = workplace.arguments()
    stand_in.install()
    stand_in.one_precision()
    torch.set_num_threads(1)
    workplace.enter(given.repo, given.work, own=("weights", "out.mp4"))
    leave_out()
    prepare(Path())
    witness = Witness()
    witness.request("wan/textimage2video.py", "WanTI2V.generate")
    witness.emit(
        "modules/vae2_2.py", "Wan2_2_VAE.decode", lambda result, frame: int(result[0].shape[1])
    )
    witness.start()
    words = ["--task", "ti2v-5B", "--size", "1280*704", "--ckpt_dir", "weights", "--t5_cpu"]
    words += ["--offload_model", "False", "--frame_num", str(FRAMES), "--sample_steps", "2"]
    words += ["--base_seed", "1", "--prompt", "word1 word2", "--save_file", "out.mp4"]
    workplace.run_script(given.repo / "generate.py", words)
    witness.write(given.truth)


if __name__ == "__main__":
    main()
