"""Memory while a million texts pass through `rstc predict`, and eight such processes on one model's folder.

    python benchmarks/load.py [--texts 1000000] [--processes 8] [--name load]

Texts are made up as in scale.py. The model is trained on 2,000 of them; then one process labels all in one stream, its
memory noted every second, and eight processes (0: none) label 5,000 each at the same time. Into results/NAME.json and
docs/figures/NAME.png.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd

from measuring import RESULTS, circumstances
from scale import write_queries

FIGURES = Path(__file__).parent.parent / "docs" / "figures"
PAGE = os.sysconf("SC_PAGE_SIZE")


def memory_of(process: int) -> float:
    """Return the megabytes that a process holds now."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE / 1e6


def streamed(run: Path, file: Path, out: Path) -> dict[str, Any]:
    """Label a file; return how long it took and the memory over time."""
    command = [sys.executable, "-m", "rstc", "predict", str(run), str(file), "--out", str(out), "--text-column", "text"]
    start, seen = time.perf_counter(), []
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        try:
            seen.append((round(time.perf_counter() - start, 1), round(memory_of(process.pid), 1)))
        except (OSError, IndexError):
            break
        time.sleep(1.0)
    if process.wait():
        sys.exit("the stream failed")
    late = [megabytes for second, megabytes in seen if second > seen[-1][0] / 10]
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "megabytes_after_a_tenth": late[0],
        "megabytes_at_the_end": late[-1],
        "megabytes_at_the_most": max(megabytes for _, megabytes in seen),
        "seen": seen[:: max(len(seen) // 300, 1)],
    }


def digest(folder: Path) -> str:
    """Return what tells the files of a folder from any others."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()


def crowded(run: Path, file: Path, folder: Path, processes: int) -> dict[str, Any]:
    """Label a file by many processes at once."""
    before = digest(run)
    outs = [folder / f"crowd{number}.csv" for number in range(processes)]
    command = [sys.executable, "-m", "rstc", "predict", str(run), str(file), "--text-column", "text", "--out"]
    start = time.perf_counter()
    running = [subprocess.Popen([*command, str(out)], stdout=subprocess.DEVNULL) for out in outs]
    codes = [process.wait() for process in running]
    return {
        "processes": processes,
        "succeeded": codes.count(0),
        "different_results": len({out.read_bytes() for out in outs}),
        "model_unchanged": digest(run) == before,
        "seconds": round(time.perf_counter() - start, 1),
    }


def draw(stream: dict[str, Any], texts: int, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    seconds, megabytes = zip(*stream["seen"], strict=True)
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    axes.plot([second / 60 for second in seconds], megabytes, color="#2b6cb0", linewidth=1.5)
    axes.set(xlabel="minutes", ylabel="MB held", ylim=(0, 1.15 * max(megabytes)))
    axes.set_title(f"rstc predict, {texts:,} texts in one stream", loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--name", default="load")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writer = multiprocessing.get_context("spawn").Process(
            target=write_queries, args=(folder / "all.csv", asked.texts, 50)
        )
        writer.start()
        writer.join()
        first = pd.read_csv(folder / "all.csv", nrows=5000)
        first.to_csv(folder / "few.csv", index=False)
        first[:2000].to_csv(folder / "train.csv", index=False)
        command = [sys.executable, "-m", "rstc", "cluster", str(folder / "train.csv"), "-k", "50"]
        subprocess.run([*command, "--text-column", "text", "--out", str(folder / "run")], check=True)
        result = circumstances() | {"texts": asked.texts}
        if asked.processes:
            result["crowd"] = crowded(folder / "run", folder / "few.csv", folder, asked.processes)
            print(json.dumps(result["crowd"]), flush=True)
        result["stream"] = streamed(folder / "run", folder / "all.csv", folder / "out.csv")
        with (folder / "out.csv").open() as file:
            result["rows_written"] = sum(1 for _ in file) - 1
    (RESULTS / f"{asked.name}.json").write_text(json.dumps(result, indent=1) + "\n")
    draw(result["stream"], asked.texts, FIGURES / f"{asked.name}.png")


if __name__ == "__main__":
    main()
