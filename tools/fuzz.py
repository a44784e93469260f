"""Fuzz the readers or the model loader with atheris: python tools/fuzz.py readers|models [libFuzzer options].

What is found is written to the current folder; put it into tests/fuzz/corpus/ when it is mended. It is not among the
tests because pytest imports every file there, and atheris is on few machines.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

TESTS = Path(__file__).parent.parent / "tests"
sys.path[:0] = [str(TESTS / "fuzz"), str(TESTS)]

with atheris.instrument_imports(include=["rstc"]):
    import targets


def main() -> None:
    """Fuzz until the options say stop."""
    what, options = sys.argv[1], sys.argv[2:]
    corpus = TESTS / "fuzz" / "corpus" / what
    with tempfile.TemporaryDirectory() as folder:
        if what == "models":
            saved = targets.save_tiny_model(Path(folder))
            target = targets.load_any(saved)
            seeds = [bytes([number + 128]) + (saved / name).read_bytes() for number, name in enumerate(targets.PARTS)]
        else:
            target = targets.read_any
            seeds = [path.read_bytes() for path in corpus.iterdir()]
        own = Path(folder) / "corpus"
        own.mkdir()
        for number, seed in enumerate(seeds):
            (own / str(number)).write_bytes(seed)
        targets.forbid()
        atheris.Setup([sys.argv[0], str(own), str(corpus), *options], target)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
