"""Write the tables of the README and of the docs, and the demo screen, from what is committed.

python benchmarks/tables.py          rewrite them
python benchmarks/tables.py --check  say whether they are stale
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rstc.benchmark.datasets import DATASETS, SMALL_SETS, WHOLE_SETS
from store_tables import (
    ablation_table,
    datasets_table,
    loop_table,
    methods_table,
    noise_table,
    starts_table,
    table,
    uneven_table,
    views_table,
)

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
IN_README = ("tfidf", "sbert", "kmeans-ic", "rstc-paper", "rstc")


def read(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text())


def demo_screen() -> str:
    return f"```text\n{(RESULTS / 'demo.txt').read_text().rstrip()}\n```"


def step_table() -> str:
    content = read("step")
    rows = [[row["step"], f"{row['seconds']:.2f}", f"{row['faster']:.1f}x"] for row in content["rows"]]
    same = f"Losses on the same batches without dropout differ by at most {content['largest_loss_difference']:.0e}."
    return table(["step", "seconds", "faster"], rows) + f"\n\n{same}"


def encode_table() -> str:
    content = read("encode")
    head = ["encoder", "texts a second", "times `encode`", "share of the matmul limit", "equal labels"]
    rows = [
        [
            row["encoder"],
            f"{row['texts_a_second']:.0f}",
            f"{row['times_sentence_transformers']:.2f}",
            f"{row['share_of_matmul_limit']:.2f}",
            f"{row['equal_labels']:.2%}",
        ]
        for row in content["rows"]
    ]
    limit = f"The limit in that run: {content['matmul_gflops']:.0f} GFLOP/s."
    return table(head, rows) + f"\n\n{limit}"


def transport_table() -> str:
    head = [
        "N",
        "C",
        "eps2",
        "Newton: seconds",
        "residual",
        "steps",
        "alternation: seconds",
        "residual",
        "rounds",
        "faster",
    ]
    rows = []
    for row in read("transport")["rows"]:
        if row["problem"] == "saot":
            ours, theirs = row["newton"], row["alternation"]
            rows.append(
                [
                    f"{row['N']:,}",
                    f"{row['C']:,}",
                    row["eps2"],
                    _seconds(ours["seconds"]),
                    f"{ours['residual']:.0e}",
                    ours["steps"],
                    *_alternation(theirs),
                    f"{theirs['seconds'] / ours['seconds']:,.0f}x" if "seconds" in theirs else "",
                ]
            )
    return table(head, rows)


def _alternation(found: dict[str, Any]) -> list[str]:
    if "seconds" not in found:
        return [f"{_seconds(found['seconds_a_round'])} a round", "", ""]
    return [_seconds(found["seconds"]), f"{found['residual']:.0e}", f"{found['rounds']:,}"]


def pot_table() -> str:
    rows = [
        [
            f"{row['N']:,}",
            f"{row['C']:,}",
            _seconds(row["newton"]["seconds"]),
            f"{row['newton']['residual']:.0e}",
            _seconds(row["pot"]["seconds"]),
            f"{row['pot']['residual']:.0e}",
            f"{row['pot']['seconds'] / row['newton']['seconds']:,.1f}x",
        ]
        for row in read("transport")["rows"]
        if row["problem"] == "fixed b"
    ]
    return table(["N", "C", "Newton: seconds", "residual", "POT: seconds", "residual", "faster"], rows)


def end_to_end_table() -> str:
    rows = [
        [row["method"], f"{row['seconds']:.0f}", f"{row['passes']:.1f}", _acc_nmi(row), row["clusters"]]
        for row in read("end_to_end")["rows"]
    ]
    return table(["method", "seconds", "passes", "ACC / NMI", "clusters"], rows)


def stages_table() -> str:
    before = next(row["rstc"]["stages"] for row in read("against_kmeans")["rows"] if row["set"] == "stackoverflow")
    now = next(row["stages"] for row in read("end_to_end")["rows"] if row["method"] == "rstc")
    names = {"encode": ["encode"], "start": ["start"], "views and training": ["views", "train"], "renewals": ["renew"]}
    rows = [
        [name, *(f"{sum(spent.get(stage, 0) for stage in stages):.0f}" for spent in (before, now))]
        for name, stages in names.items()
    ]
    return table(["stage", "before", "now"], rows)


def scale_table() -> str:
    rows = [
        [
            f"{row['texts']:,}",
            f"{row['trained_on']:,}",
            f"{row['seconds']:.0f}",
            f"{row['milliseconds_a_text']:.1f}",
            f"{row['peak_memory_gb']:.1f}",
        ]
        for row in sorted(read("scale")["rows"], key=lambda row: row["texts"])
    ]
    return table(["texts", "of which train", "seconds", "milliseconds a text", "peak memory, GB"], rows)


def page_table() -> str:
    rows = [
        [
            f"{row['texts']:,}",
            f"{row['megabytes']:.1f}",
            f"{row['open_seconds']:.1f}",
            f"{row['frame_milliseconds']:.0f}",
        ]
        for row in sorted(read("page")["rows"], key=lambda row: row["texts"])
    ]
    return table(["texts", "megabytes", "seconds to open", "milliseconds a frame"], rows)


def count_table() -> str:
    """Return how many clusters were found in each set, seed by seed, beside its classes."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in read("count")["rows"]:
        rows.setdefault(row["dataset"], []).append(row)
    lines = []
    for name in sorted(rows, key=list(DATASETS).index):
        runs = sorted(rows[name], key=lambda row: row["seed"])
        ratio = np.mean([run["found"] for run in runs]) / runs[0]["true"]
        found, sure = (", ".join(str(run[what]) for run in runs) for what in ("found", "sure"))
        between = ", ".join(f"{run['low']}–{run['high']}" for run in runs)
        one = [
            DATASETS[name].title,
            f"{runs[0]['texts']:,}",
            str(runs[0]["true"]),
            found,
            f"{ratio:.2f}",
            between,
            sure,
        ]
        lines.append(one)
    heads = ["set", "texts", "classes", "found", "found / classes", "about as good", "sure"]
    return table(heads, lines)


def strangers_table() -> str:
    """Return how many strangers were found in each set, by kind, and how many texts were put aside wrongly."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in read("noise")["rows"]:
        rows.setdefault(row["dataset"], []).append(row)
    lines = []
    for name, runs in rows.items():
        mixed, plain = ([run for run in runs if run["mixed"] == what] for what in (True, False))
        found = [f"{_percent(mixed, lambda run, k=kind: run['found'][k])}" for kind in mixed[0]["found"]]
        every = _percent(mixed, lambda run: float(np.mean(list(run["found"].values()))))
        new = _percent(mixed, lambda run: float(np.mean(list(run["new_found"].values()))))
        wrongly = [_percent(mixed, lambda run, k=kind: run[k]) for kind in ("false_alarms", "new_false_alarms")]
        left = [_percent(mixed, lambda run, k=kind: run[k]) for kind in ("left", "expected_left")]
        title = f"{DATASETS[name].title} ({len(mixed)})"
        quiet = _percent(plain, lambda run: run["false_alarms"])
        lines.append([title, *found, every, wrongly[0], new, wrongly[1], " / ".join(left), quiet])
    heads = [
        "set (seeds)",
        "letters",
        "words",
        "biomedical",
        "snippets",
        "found",
        "wrongly",
        "new: found",
        "new: wrongly",
    ]
    return table([*heads, "left / expected", "nothing mixed in: wrongly"], lines)


def _percent(runs: list[dict[str, Any]], of: Callable[[dict[str, Any]], float]) -> str:
    return f"{100 * float(np.mean([of(run) for run in runs])):.1f}" if runs else ""


def unknown_table() -> str:
    """Return the methods that need no number of clusters, and our default with the number, side by side."""
    titles = {"rstc-auto": "rstc", "rstc": "rstc, number given", "bertopic": "BERTopic", "gsdmm": "GSDMM"}
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in read("unknown")["rows"]:
        found.setdefault((row["dataset"], row["method"]), []).append(row)
    lines = []
    for name in dict.fromkeys(dataset for dataset, _ in found):
        classes = next(runs[0]["classes"] for (dataset, _), runs in found.items() if dataset == name)
        lines.append([f"{DATASETS[name].title}, {classes} classes", *(_told(found.get((name, m), [])) for m in titles)])
    return table(["set", *titles.values()], lines)


def _told(runs: list[dict[str, Any]]) -> str:
    """Return ACC / NMI / ARI, how many clusters, outliers and seconds of some runs."""
    if not runs:
        return "not run"
    of = {name: np.mean([run[name] for run in runs]) for name in ("acc", "nmi", "ari", "seconds")}
    clusters = ", ".join(str(run["clusters"]) for run in runs)
    outliers = np.mean([run.get("outliers", 0) for run in runs])
    aside = f", {100 * outliers:.0f} % left out" if outliers else ""
    return f"{of['acc']:.1f} / {of['nmi']:.1f} / {of['ari']:.1f}; {clusters} clusters{aside}; {of['seconds']:.0f} s"


def onnx_table() -> str:
    head = [
        "set",
        "new texts",
        "by torch, seconds",
        "by onnxruntime, seconds",
        "times as quick",
        "same cluster",
        "exported",
    ]
    rows = [
        [
            DATASETS[row["set"]].title,
            f"{row['texts']:,}",
            f"{row['torch_seconds']:.1f}",
            f"{row['onnx_seconds']:.1f}",
            f"{row['faster']:.1f}",
            f"{row['agree']:.1f} %",
            f"{row['exported_mb']:.0f} MB",
        ]
        for row in read("onnx_speed")["rows"]
    ]
    return table(head, rows)


def distributed_table() -> str:
    """Return what steps and renewals take in one process and in several."""
    lines = []
    for row in read("distributed")["rows"]:
        each = row["each"]
        memory = ", ".join(f"{one['peak_memory_mb']:,}" for one in each)
        if row["task"] == "steps":
            seconds = (
                f"{max(one['seconds_a_step'] for one in each):.2f} a step, {each[0]['seconds_to_encode']:.0f} to encode"
            )
            sent = f"{each[0]['gradient_bytes_a_step'] / 1e6:.1f} MB of gradients a step"
        else:
            seconds = f"{max(one['seconds'] for one in each):.2f} a renewal ({each[0]['steps']} Newton steps)"
            sent = f"{max(one['bytes'] for one in each) / 1e6:.1f} MB a renewal"
        lines.append([row["task"], str(row["processes"]), seconds, memory, sent if row["processes"] > 1 else "nothing"])
    return table(["", "processes", "seconds", "peak memory of each, MB", "told by each to the others"], lines)


def sampling_table() -> str:
    """ACC, mean recall of the classes and lost classes by how many texts train."""
    runs, rows = read("sampling")["rows"], []
    for name in dict.fromkeys(run["dataset"] for run in runs):
        of_set = [run for run in runs if run["dataset"] == name]
        for part in sorted({run["part"] for run in of_set}):
            seeds = sorted({run["seed"] for run in of_set if run["part"] == part})
            cells = []
            for drawn in ("all",) if part == 1 else ("random", "spread"):
                some = [run for run in of_set if (run["part"], run["drawn"]) == (part, drawn)]
                means = (np.mean([run[key] for run in some]) for key in ("acc", "mean_recall", "lost"))
                cells.append("{:.1f} / {:.1f} / {:.1f}".format(*means))
            first = next(run for run in of_set if run["part"] == part)
            each = f"{first['trained_on'] / first['classes']:.0f}"
            rows.append(
                [DATASETS[name].title, f"{first['trained_on']:,}", each, len(seeds), *(cells * (3 - len(cells)))]
            )
    return table(["set", "texts that train", "of each class", "seeds", "random", "with room for the rare"], rows)


def few_labels_table() -> str:
    content, rows = read("few_labels"), []
    runs, most = content["rows"], content.get("most", {})
    for name in dict.fromkeys(run["dataset"] for run in runs):
        some = [run for run in runs if run["dataset"] == name]
        means = {key: np.mean([run[key] for run in some]) for key in ("acc", "nmi", "acc_without", "nmi_without")}
        gains = [run["acc"] - run["acc_without"] for run in some]
        rows.append(
            [
                DATASETS[name].title,
                len(some),
                some[0]["given"],
                f"{means['acc_without']:.1f} / {means['nmi_without']:.1f}",
                f"{means['acc']:.1f} / {means['nmi']:.1f}",
                f"{np.mean(gains):+.1f} ({min(gains):+.1f} to {max(gains):+.1f})",
                f"{most[name]:.1f}" if name in most else "",
            ]
        )
    return table(["set", "seeds", "known texts", "without", "with", "ACC gained", "all labels"], rows)


TOOLS = {
    "kmeans": "k-means",
    "ward": "Ward's linkage",
    "community": "`community_detection`",
    "bertopic": "BERTopic",
    "bertopic-k": "BERTopic, `nr_topics` given",
    "fastopic": "FASTopic",
    "top2vec": "Top2Vec",
    "saot-clustering": "`SAOTClustering`",
    "rstc": "rstc",
}


def compare_table() -> str:
    runs = read("compare")["rows"]
    sets = list(dict.fromkeys(run["dataset"] for run in runs))
    rows = []
    for tool in [tool for tool in TOOLS if any(run["tool"] == tool for run in runs)]:
        cells = []
        for name in sets:
            some = [run for run in runs if (run["tool"], run["dataset"]) == (tool, name)]
            if not some:
                cells.append("")
                continue
            keys = ("acc", "nmi", "clusters", "processor_seconds", "left_out")
            acc, nmi, clusters, seconds, left_out = (np.mean([run[key] for run in some]) for key in keys)
            outliers = f", {left_out:.0f} % left out" if left_out else ""
            cells.append(f"{acc:.1f} / {nmi:.1f}; {clusters:.0f}; {seconds:.0f} s{outliers} ({len(some)}s)")
        rows.append([TOOLS[tool], *cells])
    classes = {run["dataset"]: run["classes"] for run in runs}
    return table(["tool", *(f"{DATASETS[name].title}, {classes[name]} classes" for name in sets)], rows)


def load_table() -> str:
    content = read("load")
    stream, crowd = content["stream"], content["crowd"]
    rows = [
        ["texts in one stream, rows written", f"{content['texts']:,}, {content['rows_written']:,}"],
        ["minutes", f"{stream['seconds'] / 60:.0f}"],
        [
            "MB held after a tenth, at the end, at the most",
            ", ".join(f"{stream[f'megabytes_{when}']:,.0f}" for when in ("after_a_tenth", "at_the_end", "at_the_most")),
        ],
        [
            f"{crowd['processes']} processes at once on one model: succeeded, different results, model unchanged",
            f"{crowd['succeeded']}, {crowd['different_results']}, {'yes' if crowd['model_unchanged'] else 'no'}",
        ],
    ]
    return table(["`python benchmarks/load.py`", ""], rows)


def flat_table() -> str:
    content = read("load_flat")
    stream = content["stream"]
    quarters = np.array_split([megabytes for _, megabytes in stream["seen"]], 4)
    rows = [
        ["texts in one stream, rows written", f"{content['texts']:,}, {content['rows_written']:,}"],
        [
            "MB held in the second, third and last quarter of the time",
            ", ".join(f"{q.mean():,.0f}" for q in quarters[1:]),
        ],
        ["MB held at the most", f"{stream['megabytes_at_the_most']:,.0f}"],
    ]
    return table([f"`{content['command']}`", ""], rows)


def estimate_table() -> str:
    """Return what 100 million texts on 16 nodes of 32 cores would take, by what one process takes here."""
    rows = {(row["task"], row["processes"]): row["each"][0] for row in read("distributed")["rows"]}
    steps, renewal = rows["steps", 1], rows["renewal", 1]
    texts, processes = 100_000_000, 16 * 32
    own = texts / processes
    encoded = steps["seconds_to_encode"] / steps["texts_a_process"]
    solved = renewal["seconds"] / renewal["rows_a_process"]
    embeddings, predictions = own * 384 * 4 / 2**30, own * 100 * 4 / 2**30
    lines = [
        ["texts of a process", f"{own:,.0f}"],
        ["to encode and label all once", f"{own * encoded / 60:.0f} minutes"],
        ["embeddings and predictions (100 clusters) of a process", f"{embeddings + predictions:.2f} GB"],
        [
            "one transport over all texts, if all trained (`max_fit_texts=0`)",
            f"{own * solved:.1f} seconds and the sums",
        ],
        ["embeddings that the first process would need for that", f"{texts * 384 * 4 / 2**30:.0f} GB"],
    ]
    return table(["", ""], lines)


def layers_table() -> str:
    found = {(row["set"], row["layers"]): row for row in read("layers")["rows"]}
    sets = list(dict.fromkeys(name for name, _ in found))
    choices = list(dict.fromkeys(layers for _, layers in found))
    rows = []
    for layers in choices:
        cells = []
        for name in sets:
            row = found.get((name, layers))
            cells.append(f"{_acc_nmi(row)} ({row['passes']:.1f})" if row else "not run")
        rows.append([layers, *cells])
    return table(["learning layers", *sets], rows)


def _acc_nmi(row: dict[str, Any]) -> str:
    return f"{row['acc']:.1f} / {row['nmi']:.1f}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:,.1f}"


FILLED = {
    "README.md": {
        "results": lambda: methods_table(*WHOLE_SETS[:4], methods=IN_README),
        "results2": lambda: methods_table(*WHOLE_SETS[4:], methods=IN_README),
        "demo": demo_screen,
    },
    "docs/results.md": {
        "datasets": datasets_table,
        "whole": lambda: methods_table(*WHOLE_SETS[:4]),
        "whole2": lambda: methods_table(*WHOLE_SETS[4:]),
        "small": lambda: methods_table(*SMALL_SETS),
        "loop": loop_table,
        "starts": starts_table,
        "ablations": ablation_table,
        "noise": noise_table,
        "uneven": uneven_table,
    },
    "docs/report.md": {"page": page_table},
    "docs/views.md": {"views": views_table},
    "docs/count.md": {"count": count_table, "unknown": unknown_table},
    "docs/noise.md": {"strangers": strangers_table},
    "docs/scale.md": {
        "onnx": onnx_table,
        "sampling": sampling_table,
        "distributed": distributed_table,
        "estimate": estimate_table,
    },
    "docs/reliability.md": {"load": load_table, "flat": flat_table},
    "docs/comparison.md": {"compare": compare_table},
    "docs/knowing.md": {"few": few_labels_table},
    "docs/performance.md": {
        "step": step_table,
        "encode": encode_table,
        "transport": transport_table,
        "pot": pot_table,
        "end_to_end": end_to_end_table,
        "stages": stages_table,
        "scale": scale_table,
        "layers": layers_table,
    },
}


def filled(text: str, contents: dict[str, Callable[[], str]]) -> str:
    for name, content in contents.items():
        pattern, new = rf"(<!-- {name}:start -->).*?(<!-- {name}:end -->)", content()
        if len(re.findall(pattern, text, flags=re.DOTALL)) != 1:
            sys.exit(f"there is no one place for the table {name!r}")
        text = re.sub(pattern, lambda marks, new=new: f"{marks[1]}\n{new}\n{marks[2]}", text, flags=re.DOTALL)
    return text


def main() -> None:
    stale = []
    for name, contents in FILLED.items():
        path = ROOT / name
        before = path.read_text(encoding="utf-8")
        after = filled(before, contents)
        if before != after:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(after, encoding="utf-8")
    if stale and "--check" in sys.argv:
        sys.exit(f"stale: {', '.join(stale)}; run python benchmarks/tables.py")


if __name__ == "__main__":
    main()
