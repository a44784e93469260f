"""Memory of `rstc predict` on a stream of a million texts, and eight such processes at once on one model folder.

    python benchmarks/load_test.py [--texts 1000000] [--processes 8] [--name load_test]
    python benchmarks/load_test.py --texts 100000 --processes 0 --name predict_speed

Texts are those of scale.py. A model is fitted to 2,000 of them. Then eight processes (0: none) predict 5,000 each at
the same time, and one process predicts all texts in one stream, its memory read every second. `times_plain` is its
throughput over that of `SentenceTransformer.encode`, measured on 4,000 texts before and after. The result is written to
results/NAME.json, and the memory over time is drawn in docs/figures/NAME.png.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from measuring import FIGURES, RESULTS, describe_run, make_parser, run_in_process
from scale import measure_plain_encoding, write_queries

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def read_memory(process: int) -> float:
    """Read the resident memory of a process, in megabytes."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE_BYTES / 1e6


def measure_stream(run: Path, file: Path, out: Path) -> dict[str, Any]:
    """Predict a file; return its time and its memory over time."""
    command = [sys.executable, "-m", "rstc", "predict", str(run), str(file), "--out", str(out), "--text-column", "text"]
    start, samples = time.perf_counter(), []
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        try:
            samples.append((round(time.perf_counter() - start, 1), round(read_memory(process.pid), 1)))
        except (OSError, IndexError):
            break
        time.sleep(1.0)
    if process.wait():
        sys.exit("rstc predict failed")
    late = [megabytes for second, megabytes in samples if second > samples[-1][0] / 10]
    quarters = [float(np.mean(part)) for part in np.array_split([megabytes for _, megabytes in samples], 4)]
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "megabytes_by_quarter": [round(megabytes, 1) for megabytes in quarters],
        "megabytes_after_a_tenth": late[0],
        "megabytes_at_the_end": late[-1],
        "megabytes_at_the_most": max(megabytes for _, megabytes in samples),
        "seen": samples[:: max(len(samples) // 300, 1)],
    }


def measure_rate(folder: Path) -> float:
    """Measure the number of texts a second of SentenceTransformer.encode."""
    run_in_process(measure_plain_encoding, folder / "all.csv", folder / "rate")
    return float((folder / "rate").read_text())


def hash_folder(folder: Path) -> str:
    """Compute the sha256 of the names and contents of all files of a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def measure_crowd(run: Path, file: Path, folder: Path, processes: int) -> dict[str, Any]:
    """Predict a file by many processes at once."""
    before = hash_folder(run)
    outs = [folder / f"crowd{number}.csv" for number in range(processes)]
    command = [sys.executable, "-m", "rstc", "predict", str(run), str(file), "--text-column", "text", "--out"]
    start = time.perf_counter()
    running = [subprocess.Popen([*command, str(out)], stdout=subprocess.DEVNULL) for out in outs]
    codes = [process.wait() for process in running]
    return {
        "processes": processes,
        "succeeded": codes.count(0),
        "different_results": len({out.read_bytes() for out in outs}),
        "model_unchanged": hash_folder(run) == before,
        "seconds": round(time.perf_counter() - start, 1),
    }


def draw_memory(stream: dict[str, Any], texts: int, path: Path) -> None:
    """Draw the memory over time."""
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
    parser = make_parser(__doc__, data=False)
    parser.add_argument("--texts", type=int, default=1_000_000, help="number of texts in the stream")
    parser.add_argument("--processes", type=int, default=8, help="number of processes at once")
    parser.add_argument("--name", default="load_test", help="name of the result and the figure")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_in_process(write_queries, folder / "all.csv", options.texts, 50)
        first = pd.read_csv(folder / "all.csv", nrows=5000)
        first.to_csv(folder / "few.csv", index=False)
        first[:2000].to_csv(folder / "train.csv", index=False)
        command = [sys.executable, "-m", "rstc", "cluster", str(folder / "train.csv"), "-k", "50"]
        subprocess.run([*command, "--text-column", "text", "--out", str(folder / "run")], check=True)
        result = describe_run() | {"texts": options.texts}
        if options.processes:
            result["crowd"] = measure_crowd(folder / "run", folder / "few.csv", folder, options.processes)
            print(json.dumps(result["crowd"]), flush=True)
        rates = [measure_rate(folder)]
        stream = measure_stream(folder / "run", folder / "all.csv", folder / "out.csv")
        rates.append(measure_rate(folder))
        stream["plain_texts_a_second"] = [round(rate) for rate in rates]
        stream["times_plain"] = round(options.texts / stream["seconds"] / (sum(rates) / 2), 2)
        result["stream"] = stream
        with (folder / "out.csv").open() as file:
            result["rows_written"] = sum(1 for _ in file) - 1
    (RESULTS / f"{options.name}.json").write_text(json.dumps(result, indent=1) + "\n")
    draw_memory(result["stream"], options.texts, FIGURES / f"{options.name}.png")


if __name__ == "__main__":
    main()
