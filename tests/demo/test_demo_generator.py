"""The model: shapes, the past it looks back at, and the same frames from the same seed."""

from __future__ import annotations

import pytest
import torch

from mgtop.demo.blocks import Blocks
from mgtop.demo.generator import Generator
from mgtop.demo.model import KeyValueWindow

CPU = torch.device("cpu")


def _generator(block: int, seed: int = 0) -> Generator:
    return Generator(CPU, Blocks(block), 64, 96, 2, seed)


def _frames(block: int, emits: int, *, seed: int = 0, noise: int = 0) -> list[torch.Tensor]:
    generator, blocks = _generator(block, seed), Blocks(block)
    inputs = torch.Generator().manual_seed(5)
    with torch.inference_mode():
        stream = generator.stream(noise)
        made = []
        for emit in range(emits):
            given = torch.rand(blocks.frames_of(emit), 3, 96, 64, generator=inputs)
            made.append(stream.decode(stream.sample(given)))
    return made


@pytest.mark.parametrize("block", [1, 2, 3, 4, 5, 6, 12])
def test_every_block_has_the_frames_that_it_is_to_have(block: int):
    made = _frames(block, 3)
    blocks = Blocks(block)
    assert [frames.shape for frames in made] == [
        (blocks.frames_of(emit), 3, 96, 64) for emit in range(3)
    ]
    assert all(frames.isfinite().all() for frames in made)
    assert made[-1].std() > 0.01


def test_the_same_seed_gives_the_same_frames():
    once, again = _frames(4, 5), _frames(4, 5)
    assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))
    assert not torch.equal(once[1], _frames(4, 5, noise=1)[1])
    assert not torch.equal(once[1], _frames(4, 5, seed=1)[1])


def test_making_a_generator_leaves_the_program_s_random_numbers_alone():
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    _generator(4)
    assert torch.equal(torch.rand(4), expected)


def test_more_sampling_steps_than_asked_for_change_nothing():
    generator = _generator(4)
    given = torch.rand(4, 3, 96, 64)
    with torch.inference_mode():
        plain, busy = generator.stream(1), generator.stream(1)
        for _ in range(3):
            busy.denoise_in_vain()
            assert torch.equal(plain.sample(given), busy.sample(given))


def test_later_blocks_look_back():
    generator = _generator(4)
    given = torch.rand(4, 3, 96, 64)
    with torch.inference_mode():
        one, other = generator.stream(1), generator.stream(1)
        one.sample(given)
        other.sample(1 - given)
        assert not torch.equal(one.sample(given), other.sample(given))


def test_the_window_keeps_the_newest_past_in_the_same_memory():
    shape = _generator(12).shape
    window = KeyValueWindow(shape, CPU, torch.float32)
    block = shape.latents * shape.tokens
    size = (1, shape.heads, block, 32)
    seen = []
    places = set()
    for number in range(5):
        keys, values = window.put(0, torch.full(size, float(number)), torch.zeros(size))
        assert keys.shape == values.shape
        seen.append(sorted(set(keys[0, 0, :, 0].tolist())))
        places.add(keys.data_ptr())
        window.commit()
    assert seen == [[0], [0, 1], [0, 1, 2], [1, 2, 3], [2, 3, 4]]
    assert len(places) == 1
