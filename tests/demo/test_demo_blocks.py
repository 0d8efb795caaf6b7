"""Sizes of blocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.demo.blocks import Blocks


@pytest.mark.parametrize(
    ("size", "latents", "first"),
    [(1, 1, 1), (2, 1, 1), (3, 1, 1), (4, 1, 1), (5, 5, 5), (6, 2, 4), (8, 2, 5), (12, 3, 9)],
)
def test_a_causal_decoder_gives_fewer_frames_at_first(size: int, latents: int, first: int):
    blocks = Blocks(size)
    assert (blocks.latents, blocks.first) == (latents, first)
    assert blocks.first == 1 + blocks.per_latent * (blocks.latents - 1)


@given(st.integers(1, 240), st.integers(1, 2000))
def test_frames_add_up(size: int, wanted: int):
    blocks = Blocks(size)
    emits = blocks.emits_for(wanted)
    counts = [blocks.frames_of(emit) for emit in range(emits)]
    assert sum(counts) >= wanted
    assert sum(counts[:-1]) < wanted
    assert [blocks.first_frame_of(emit) for emit in range(emits)] == [
        sum(counts[:emit]) for emit in range(emits)
    ]
