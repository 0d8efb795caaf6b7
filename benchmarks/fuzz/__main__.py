"""Mutated input for everything that reads bytes of strangers: no crash, no hang, no growth.

    python -m benchmarks.fuzz [--only wire …] [--inputs N] [--seed N]
    python -m benchmarks.fuzz --atheris wire --seconds 60

An input of ``wire`` and ``analysis`` is a stream of 32 messages. Prints inputs, messages, the
longest time of one, and the growth of memory after the first tenth; exit code 1 where something
crashed, hung or grew by more than 16 MiB. The input that did it is kept in the temporary folder.
With ``--atheris``, Google's coverage-guided fuzzer (PyPI: atheris) chooses the inputs.
"""

from __future__ import annotations

import argparse
import gc
import random
import resource
import sys
import tempfile
import time
import traceback
from pathlib import Path

from benchmarks.fuzz.mutate import mutated
from benchmarks.fuzz.targets import LONGEST_S, MESSAGES, TARGETS, Target

INPUTS = {"wire": 320_000, "analysis": 40_000}
"""Inputs of a full run; others get 20,000. 360,000 streams of 32 are 11.5 million messages."""
MOST_GROWTH_MIB = 16.0


def rss_mib() -> float:
    """Resident memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def kept(target: Target, data: bytes) -> Path:
    """Where an input that did harm is found again."""
    path = Path(tempfile.gettempdir()) / f"mgtop-fuzz-{target.name}.bin"
    path.write_bytes(data)
    return path


def run(target: Target, inputs: int, seed: int) -> bool:
    """Feed mutated inputs; whether all went well."""
    chance = random.Random(seed)
    seeds = list(target.seeds())
    began = time.monotonic()
    longest_s, read, after_warm_up = 0.0, target.make(), 0.0
    for number in range(inputs):
        if number and number % target.renew == 0:
            read = target.make()
            gc.collect()
        data = mutated(chance.choice(seeds), chance, seeds)
        at = time.thread_time()
        try:
            read(data)
        except Exception:
            print(f"{target.name}: input {number} of seed {seed} CRASHED ({kept(target, data)})")
            traceback.print_exc(limit=-8, file=sys.stdout)
            return False
        took_s = time.thread_time() - at
        if took_s > longest_s:
            longest_s = took_s
            if took_s > LONGEST_S:
                where = kept(target, data)
                print(f"{target.name}: input {number} took {took_s:.1f} s: HANGS ({where})")
                return False
        if number == inputs // 10:
            after_warm_up = rss_mib()
    gc.collect()
    grown = rss_mib() - after_warm_up
    messages = inputs * MESSAGES if target.name in ("wire", "analysis") else inputs
    took = time.monotonic() - began
    print(
        f"{target.name:14} {inputs:9,} {messages:12,} {took:7.0f} s "
        f"{longest_s * 1e3:9.1f} ms {grown:+8.1f} MiB",
        flush=True,
    )
    if grown > MOST_GROWTH_MIB:
        print(f"{target.name}: GREW by {grown:.1f} MiB")
        return False
    return True


def guided(target: Target, seconds: int) -> None:
    """Let atheris look for inputs that reach new code; does not return."""
    import atheris

    with atheris.instrument_imports(include=["mgtop"]):
        read = target.make()
    corpus = Path(tempfile.mkdtemp(prefix="mgtop-corpus-"))
    for number, data in enumerate(target.seeds()):
        (corpus / str(number)).write_bytes(data)
    limits = [f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=2048"]
    kept_in = f"-artifact_prefix={corpus.parent}/mgtop-"
    words = [sys.argv[0], *limits, kept_in, str(corpus)]
    atheris.Setup(words, lambda data: read(data) and None)
    atheris.Fuzz()


def main() -> int:
    """Run what was asked for; 0 where nothing crashed, hung or grew."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--inputs", type=int, help="of each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--atheris", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60)
    args = parser.parse_args()
    if args.atheris:
        guided(TARGETS[args.atheris], args.seconds)
    print("target            inputs     messages     took   longest one     grown")
    well = [
        run(TARGETS[name], args.inputs or INPUTS.get(name, 20_000), args.seed) for name in args.only
    ]
    return 0 if all(well) else 1


if __name__ == "__main__":
    sys.exit(main())
