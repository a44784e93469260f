"""How far `rstc cluster --dry-run` estimates the time and the memory of the run that it plans.

    python benchmarks/dry_run.py --data DIR [--sets stackoverflow:500,stackoverflow:2000,...] [--seed 0]

For each set and variant, the dry run and the run follow each other, in processes of their own and without cached
embeddings. `estimate` and `seconds` are the estimated and the measured seconds of the run's stages, `parts` those of
the estimate's parts, and `stages` those of the run. The constants of rstc/pipelines/plan.py follow from these rows.
Rows are written to results/dry_run.json; rows that are present are skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measuring import ResultFile, make_parser
from rstc.benchmark.datasets import read_table

SETS = "stackoverflow:500,stackoverflow:2000,tweet:2472,stackoverflow:10000"
VARIANTS: dict[str, tuple[str, ...]] = {
    "K given": (),
    "K estimated": ("--clusters", "auto"),
    "training=always": ("--set", "training=always"),
}


def run_json(*arguments: str) -> dict[str, Any]:
    """Run `rstc` in a process of its own; return its document."""
    done = subprocess.run(
        [sys.executable, "-m", "rstc", *arguments, "--json"],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr.decode())
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--sets", default=SETS, help="names and sizes")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    results = ResultFile("dry_run", key=("set", "texts", "variant"), seed=options.seed)
    for entry in options.sets.split(","):
        name, size = entry.split(":")
        table = read_table(name, options.data)[["label", "text"]]
        table = table.sample(min(int(size), len(table)), random_state=0)
        for variant, changes in VARIANTS.items():
            if results.has(set=name, texts=len(table), variant=variant):
                continue
            with tempfile.TemporaryDirectory() as folder:
                file, out = Path(folder) / "texts.csv", Path(folder) / "run"
                table.to_csv(file, index=False)
                command = ["cluster", str(file), "--text-column", "text", "--out", str(out), "--no-cache"]
                command += ["--seed", str(options.seed), "--clusters", str(table.label.nunique()), *changes]
                plan, run = run_json(*command, "--dry-run"), run_json(*command)
            estimate, seconds = plan["estimate"]["seconds"], sum(run["seconds"].values())
            row = {"set": name, "texts": len(table), "variant": variant, "estimate": estimate}
            row |= {"seconds": round(seconds, 1), "ratio": round(estimate / seconds, 2)}
            row |= {"parts": plan["estimate"]["seconds_by_part"], "stages": run["seconds"]}
            results.add(row | {"memory_gb": plan["estimate"]["memory_gb"]})
            print(name, len(table), variant, estimate, row["seconds"], flush=True)


if __name__ == "__main__":
    main()
