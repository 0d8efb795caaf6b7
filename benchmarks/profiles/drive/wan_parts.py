"""Tiny random weights for programs around Wan: text encoder, tokenizer, decoder, attention."""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import json
import sys
import types
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

VOCABULARY = 64
NAME = "_video_vae"
"""Of the function by which Wan's modules make their decoder."""
REAL_WIDTH = 128
"""Of an attention head of the real models."""
T5 = {
    "vocab_size": VOCABULARY,
    "dim": 4096,
    "dim_attn": 32,
    "dim_ffn": 32,
    "num_heads": 2,
    "encoder_layers": 1,
    "decoder_layers": 1,
}


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *args: Any, **kwargs: Any
) -> torch.Tensor:
    """``flash_attention`` as torch has it: [batch, length, heads, width] in and out."""
    kind = q.dtype
    q, k, v = (one.transpose(1, 2).to(kind) for one in (q, k, v))
    return scaled_dot_product_attention(q, k, v).transpose(1, 2).contiguous()


def flash_attn_of_torch() -> None:
    """A module ``flash_attn`` whose functions are torch's attention."""
    module = types.ModuleType("flash_attn")
    module.__spec__ = importlib.machinery.ModuleSpec("flash_attn", None)
    module.__version__ = "0"  # type: ignore[attr-defined]
    module.flash_attn_func = attention  # type: ignore[attr-defined]
    sys.modules["flash_attn"] = module


def replace(package: str, name: str, value: Any) -> int:
    """Put another object under a name in every module of a package that has it."""
    done = 0
    for module_name, module in list(sys.modules.items()):
        if module_name.split(".")[0] == package and name in vars(module):
            setattr(module, name, value)
            done += 1
    return done


def shrink_text_encoder(module: str) -> None:
    """``umt5_xxl`` of a module builds a tiny one."""
    t5 = importlib.import_module(module)
    t5.umt5_xxl = functools.partial(t5.umt5_xxl, **T5)
    replace(module.split(".")[0], "umt5_xxl", t5.umt5_xxl)


def shrink_video_vae(module: str, dim: int = 8, **more: Any) -> None:
    """``_video_vae`` of a module builds a tiny one, of any file that is there."""
    vae = importlib.import_module(module)
    tiny = functools.partial(getattr(vae, NAME), dim=dim, **more)
    setattr(vae, NAME, tiny)
    replace(module.split(".")[0], NAME, tiny)


def save_vae(module: str, path: Path, dim: int, z_dim: int = 16) -> None:
    """Random weights of a tiny Wan 2.1 decoder and encoder, where the project looks for them."""
    vae = importlib.import_module(module)
    path.parent.mkdir(parents=True, exist_ok=True)
    model = vae.WanVAE_(
        dim=dim, z_dim=z_dim, dim_mult=[1, 2, 4, 4], num_res_blocks=2, attn_scales=[],
        temperal_downsample=[False, True, True], dropout=0.0,
    )  # fmt: skip
    torch.save(model.state_dict(), path)


def save_text_encoder(module: str, folder: Path) -> None:
    """Random weights of a tiny text encoder, and a tokenizer, where Wan's loaders look."""
    t5 = importlib.import_module(module)
    text = t5.umt5_xxl(encoder_only=True, return_tokenizer=False)
    write_tokenizer(folder / "google" / "umt5-xxl")
    torch.save(text.state_dict(), folder / "models_t5_umt5-xxl-enc-bf16.pth")


def wake(model: torch.nn.Module) -> None:
    """Give the last layer, which starts at zero, weights to speak of."""
    torch.nn.init.normal_(model.head.head.weight, std=0.02)  # type: ignore[union-attr, arg-type]


def write_tokenizer(folder: Path) -> None:
    """A tokenizer of a few words, in the files that ``AutoTokenizer`` reads."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["<pad>", "</s>", "<unk>"] + [f"word{n}" for n in range(VOCABULARY - 3)]
    tokenizer = Tokenizer(
        models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512, **special}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "special_tokens_map.json").write_text(json.dumps(special), encoding="utf-8")


def shrink_caches(pipeline: type, heads: int, width: int, layers: int, names: list[str]) -> None:
    """A pipeline's caches are made for its real model; these are for a tiny one.

    Args:
        pipeline: its class.
        heads: attention heads of the tiny model.
        width: of a head.
        layers: of the tiny model.
        names: methods that make caches.
    """
    make = pipeline.__init__

    @functools.wraps(make)
    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        self.num_transformer_blocks = layers

    pipeline.__init__ = made  # type: ignore[misc]
    for name in names:
        original = getattr(pipeline, name)

        @functools.wraps(original)
        def smaller(self: Any, *args: Any, _original: Any = original, **kwargs: Any) -> None:
            _original(self, *args, **kwargs)
            for caches in vars(self).values():
                if isinstance(caches, list) and caches and isinstance(caches[0], dict):
                    for cache in caches:
                        for key in ("k", "v"):
                            if key in cache and cache[key].dim() == 4:
                                real = cache[key].shape[-1] == REAL_WIDTH
                                upto = width if real else None  # else: of the actions
                                cache[key] = cache[key][:, :, :heads, :upto].clone()

        setattr(pipeline, name, smaller)


def small_defaults(kind: type, **values: Any) -> None:
    """Other defaults for the arguments of a class."""
    make: Any = kind.__init__
    code = make.__code__
    names = code.co_varnames[: code.co_argcount]
    defaults = list(make.__defaults__)
    for name, value in values.items():
        defaults[names.index(name) - len(names)] = value
    make.__defaults__ = tuple(defaults)
