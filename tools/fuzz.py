"""Fuzz the readers or the model loader with atheris: python tools/fuzz.py readers|models [libFuzzer options].

Inputs that fail are written to the current folder; add them to tests/fuzz/corpus/ when the failure is fixed. This file
is not in tests/, where pytest would import it, because atheris is rarely installed.
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
    """Fuzz a target until the limit that the options set."""
    target_name, options = sys.argv[1], sys.argv[2:]
    corpus = TESTS / "fuzz" / "corpus" / target_name
    with tempfile.TemporaryDirectory() as folder:
        if target_name == "models":
            saved = targets.save_tiny_model(Path(folder))
            target = targets.make_model_fuzzer(saved)
            files = enumerate(targets.MODEL_FILES)
            seeds = [bytes([number + 128]) + (saved / name).read_bytes() for number, name in files]
        else:
            target = targets.fuzz_reader
            seeds = [path.read_bytes() for path in corpus.iterdir()]
        own = Path(folder) / "corpus"
        own.mkdir()
        for number, seed in enumerate(seeds):
            (own / str(number)).write_bytes(seed)
        targets.forbid_side_effects()
        atheris.Setup([sys.argv[0], str(own), str(corpus), *options], target)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
