"""Matrix-Game-2's ``inference.py`` as it stands, with the tiny model of ``matrix_game_2``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import matrix_game_2
import stand_in
import torch
import wan_parts
import workplace
from witness import Witness


def main() -> None:
    """Three blocks of three latents, with actions from the program's own list."""
    given = workplace.arguments()
    stand_in.install()
    torch.set_num_threads(1)
    wan_parts.flash_attn_of_torch()
    workplace.enter(given.repo, given.work, own=matrix_game_2.OWN)
    matrix_game_2.prepare(Path())
    stand_in.one_precision()
    import pipeline

    matrix_game_2.small_caches(pipeline.CausalInferencePipeline)
    witness = Witness()
    witness.request("pipeline/causal_inference.py", "CausalInferencePipeline.inference")
    matrix_game_2.blocks(witness)
    witness.start()
    words = ["--config_path", "tiny.yaml", "--pretrained_model_path", "weights"]
    words += ["--img_path", matrix_game_2.PICTURE, "--output_folder", "outputs"]
    words += ["--num_output_frames", str(matrix_game_2.LATENTS)]
    workplace.run_script(given.repo / "inference.py", words)
    witness.write(given.truth)


if __name__ == "__main__":
    main()
