"""Tables from the files that the measuring scripts write to results/."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from measuring import RESULTS
from paper_tables import scores_cell, titles
from rstc.benchmark.datasets import DATASETS
from rstc.benchmark.significance import sign_flip_p_value
from rstc.benchmark.store import Store
from rstc.benchmark.tables import markdown_table
from views import DEFAULT_VIEWS, GIVEN, VIEW_DATASETS, VIEW_RUNS, VIEW_SPECS

TOOL_TITLES = {
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

Row = dict[str, Any]


def read(name: str) -> dict[str, Any]:
    """Read a result file."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def format_rows(rows: Iterable[Row], columns: list[tuple[str, str]]) -> str:
    """Format rows as a Markdown table with (title, format string) columns."""
    return markdown_table(
        [title for title, _ in columns], [[form.format(**row) for _, form in columns] for row in rows]
    )


def group(rows: Iterable[Row], *keys: str) -> dict[Any, list[Row]]:
    """Group rows by one key or several, in the order of their first appearance."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[keys[0]] if len(keys) == 1 else tuple(row[key] for key in keys), []).append(row)
    return groups


def means(rows: list[Row], *keys: str) -> list[float]:
    """Average entries over rows."""
    return [float(np.mean([row[key] for row in rows])) for key in keys]


def algorithm1_table() -> str:
    """Spectral radius of Algorithm 1, and what its iterations reach, by eps2 and number of classes."""
    rows = []
    for row in sorted(read("algorithm1")["rows"], key=lambda row: (row["C"], -row["eps2"])):
        rows.append(
            [
                row["C"],
                f"{row['eps2']:g}",
                f"{row['eps1'] * row['largest_class'] / (2 * row['eps2']):.2g}",
                f"{row['spectral_radius']:.2f}",
                f"{row['alternating']['residuals'][-1]:.0e}",
                f"{row['literal']['residuals'][-1]:.0e}"
                if row["literal_iterations"] == row["iterations"][-1]
                else f"NaN in iteration {row['literal_iterations'] + 1}",
                f"{row['newton']['residual']:.0e} in {row['newton']['steps']}",
                f"{row['newton']['duality_gap']:.0e}",
            ]
        )
    header = ["C", "eps2", "eps1 max b / (2 eps2)", "spectral radius", "exact b", "literal"]
    return markdown_table([*header, "Newton, steps", "Newton's duality gap"], rows)


def chaos_table() -> str:
    """How many faults of each kind were tried, and how many were withstood."""
    if not (RESULTS / "chaos.json").exists():
        return "`make chaos` was not run on this version yet."
    return format_rows(read("chaos")["rows"], [("fault", "{kind}"), ("tried", "{tried:,}"), ("withstood", "{held:,}")])


def join(values: Iterable[Any], form: str = "{}") -> str:
    """Format values and join them by commas."""
    return ", ".join(form.format(value) for value in values)


def format_seconds(seconds: float) -> str:
    """Format seconds with three decimals below one second, else with one."""
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:,.1f}"


DEMO_CLUSTERS = 1  # that the README shows


def demo_screen() -> str:
    """The first clusters and the last lines of what `rstc demo` printed."""
    lines = (RESULTS / "demo.txt").read_text(encoding="utf-8").rstrip().splitlines()
    first, last = (next(i for i, line in enumerate(lines) if line.startswith(start)) for start in "│└")
    return "\n".join(["```text", *lines[: first + DEMO_CLUSTERS], "...", *lines[last:], "```"])


def paper_schedule_sentence() -> str:
    """How far the run on the paper's own schedule came."""
    content = read("paper_schedule")
    first, last = content["curve"][0], content["curve"][-1]
    return (
        f"One such run, on Tweet with seed {content['seed']}, was followed on a CPU for {last['step']} of its "
        f"{content['steps']:,} steps ({content['seconds'] / 3600:.1f} hours beside other work): {first['acc']:.1f} / "
        f"{first['nmi']:.1f} after {first['step']} steps, {last['acc']:.1f} / {last['nmi']:.1f} with "
        f"{last['clusters']} clusters after {last['step']}; it had not converged."
    )


def training_step_table() -> str:
    content = read("training_step")
    table = format_rows(
        content["rows"], [("step", "{step}"), ("seconds", "{seconds:.2f}"), ("faster", "{faster:.1f}x")]
    )
    difference = content["largest_loss_difference"]
    return f"{table}\n\nLosses on the same batches without dropout differ by at most {difference:.0e}."


def encoding_speed_table() -> str:
    content = read("encoding_speed")
    columns = [
        ("encoder", "{encoder}"),
        ("texts a second", "{texts_a_second:.0f}"),
        ("times `encode`", "{times_sentence_transformers:.2f}"),
        ("share of the matmul limit", "{share_of_matmul_limit:.2f}"),
        ("equal labels", "{equal_labels:.2%}"),
    ]
    return f"{format_rows(content['rows'], columns)}\n\nThe limit in that run: {content['matmul_gflops']:.0f} GFLOP/s."


def transport_table() -> str:
    """SAOT by Newton's method and by the paper's alternation."""
    rows = []
    for row in read("transport")["rows"]:
        if row["problem"] != "saot":
            continue
        newton, alternation = row["newton"], row["alternation"]
        ours = [format_seconds(newton["seconds"]), f"{newton['residual']:.0e}", newton["steps"]]
        theirs = [f"{format_seconds(alternation.get('seconds_a_round', 0))} a round", "", "", ""]
        if "seconds" in alternation:
            theirs = [
                format_seconds(alternation["seconds"]),
                f"{alternation['residual']:.0e}",
                f"{alternation['rounds']:,}",
                f"{alternation['seconds'] / newton['seconds']:,.0f}x",
            ]
        rows.append([f"{row['N']:,}", f"{row['C']:,}", row["eps2"], *ours, *theirs])
    ours_titles = ["Newton: seconds", "residual", "steps"]
    return markdown_table(
        ["N", "C", "eps2", *ours_titles, "alternation: seconds", "residual", "rounds", "faster"], rows
    )


def transport_memory_table() -> str:
    """Time of SAOT and of its labels, and the memory beyond log P."""
    rows = []
    for row in read("transport")["rows"]:
        if row["problem"] == "memory":
            newton = row["newton"]
            problem = [f"{row['N']:,}", f"{row['C']:,}", row["eps2"]]
            seconds = [format_seconds(newton["seconds"]), format_seconds(row["labels_seconds"])]
            memory = [f"{row['log_p_mb']:,.0f}", f"{row['extra_mb']:,.0f}", f"{row['extra_mb'] / row['log_p_mb']:.1%}"]
            rows.append([*problem, *seconds, f"{newton['residual']:.0e}", newton["steps"], *memory])
    titles = [
        "N",
        "C",
        "eps2",
        "seconds",
        "labels: seconds",
        "residual",
        "steps",
        "log P, MB",
        "beyond it, MB",
        "share",
    ]
    return markdown_table(titles, rows)


def pot_table() -> str:
    """Transport to fixed class sizes by Newton's method and by POT."""
    rows = []
    for row in read("transport")["rows"]:
        if row["problem"] == "fixed b":
            solvers = [row["newton"], row["pot"]]
            cells = [text for s in solvers for text in (format_seconds(s["seconds"]), f"{s['residual']:.0e}")]
            ratio = row["pot"]["seconds"] / row["newton"]["seconds"]
            rows.append([f"{row['N']:,}", f"{row['C']:,}", *cells, f"{ratio:,.1f}x"])
    return markdown_table(["N", "C", "Newton: seconds", "residual", "POT: seconds", "residual", "faster"], rows)


def end_to_end_table() -> str:
    """Whole commands in units of one plain encoding pass."""
    rows = []
    for row in read("end_to_end")["rows"]:
        times_idle = f"{row['times_idle']:.1f}" if "times_idle" in row else ""
        marks = [f"{row[name]:.1f}" if name in row else "" for name in ("first_line", "clusters_written")]
        texts = f"{DATASETS[row['set']].title}, {row['texts']:,}"
        scores = f"{row['acc']:.1f} / {row['nmi']:.1f}"
        rows.append([texts, row["method"], f"{row['seconds']:.1f}", f"{row['passes']:.2f}", times_idle, *marks, scores])
    titles = ["texts", "method", "seconds", "passes", "times idle", "first line, s", "clusters.csv, s", "ACC / NMI"]
    return markdown_table(titles, rows)


def dry_run_table() -> str:
    """What a dry run estimates, beside what the run takes."""
    rows = []
    for row in read("dry_run")["rows"]:
        texts = f"{DATASETS[row['set']].title}, {row['texts']:,}"
        rows.append([texts, row["variant"], f"{row['estimate']:.0f}", f"{row['seconds']:.0f}", f"{row['ratio']:.2f}"])
    return markdown_table(["texts", "run", "estimate, s", "measured, s", "ratio"], rows)


def stages_table() -> str:
    """Seconds of the stages of the default command."""
    runs = [row for row in read("end_to_end")["rows"] if row["method"] == "rstc"]
    stages = [stage for stage in runs[-1]["stages"] if any(row["stages"][stage] >= 0.1 for row in runs)]
    rows = [[stage, *(f"{row['stages'][stage]:.1f}" for row in runs)] for stage in stages]
    return markdown_table(["stage", *(f"{DATASETS[row['set']].title}, {row['texts']:,}" for row in runs)], rows)


def count_table() -> str:
    """The estimate of the number of clusters in units of one plain encoding pass."""
    runs = [row for row in read("end_to_end")["rows"] if "count_passes" in row]
    columns = [("texts", "{texts:,}"), ("seconds", "{seconds:.1f}"), ("passes", "{passes:.2f}")]
    rows = [{"texts": row["texts"], "seconds": row["stages"]["count"], "passes": row["count_passes"]} for row in runs]
    return format_rows(rows, columns)


def map_table() -> str:
    columns = [
        ("set", "{set}"),
        ("texts", "{texts:,}"),
        ("method", "{method}"),
        ("seconds", "{seconds:.1f}"),
        ("passes", "{passes:.2f}"),
        ("first call, seconds", "{first_call_seconds:.1f}"),
        ("trustworthiness", "{trustworthiness:.3f}"),
        ("same class", "{same_class:.3f}"),
    ]
    return format_rows(read("map")["rows"], columns)


def scale_table() -> str:
    columns = [
        ("texts", "{texts:,}"),
        ("clusters found on", "{trained_on:,}"),
        ("seconds", "{seconds:.0f}"),
        ("milliseconds a text", "{milliseconds_a_text:.2f}"),
        ("times our encoding", "{times_encoding:.2f}"),
        ("plain passes", "{passes:.2f}"),
        ("peak memory, GB", "{peak_memory_gb:.1f}"),
    ]
    return format_rows(sorted(read("scale")["rows"], key=lambda row: row["texts"]), columns)


def report_page_table() -> str:
    columns = [
        ("texts", "{texts:,}"),
        ("megabytes", "{megabytes:.1f}"),
        ("seconds to open", "{open_seconds:.1f}"),
        ("milliseconds a frame", "{frame_milliseconds:.0f}"),
    ]
    return format_rows(sorted(read("report_page")["rows"], key=lambda row: row["texts"]), columns)


def n_clusters_table() -> str:
    """Estimated number of clusters by set and sample, beside the number of classes."""
    rows = [
        [
            dataset,
            f"{runs[0]['texts']:,}",
            runs[0]["true"],
            join(run["found"] for run in runs),
            f"{np.mean([run['found'] for run in runs]) / runs[0]['true']:.2f}",
            join(f"{run['low']}–{run['high']}" for run in runs),
            join(run["sure"] for run in runs),
        ]
        for (dataset, _), runs in group(read("n_clusters")["rows"], "dataset", "variant").items()
    ]
    header = ["set", "texts", "classes", "found", "found / classes", "about as good", "certainty"]
    return markdown_table(header, rows)


def unknown_n_clusters_table() -> str:
    """Methods that are not told the number of clusters, and the default that is."""
    methods = {"rstc-auto": "rstc", "rstc": "rstc, number given", "bertopic": "BERTopic", "gsdmm": "GSDMM"}

    def cell(runs: list[Row]) -> str:
        if not runs:
            return "not run"
        acc, nmi, ari, seconds = means(runs, "acc", "nmi", "ari", "seconds")
        outliers = np.mean([run.get("outliers", 0) for run in runs])
        left_out = f", {100 * outliers:.0f} % left out" if outliers else ""
        clusters = join(run["clusters"] for run in runs)
        return f"{acc:.1f} / {nmi:.1f} / {ari:.1f}; {clusters} clusters{left_out}; {seconds:.0f} s"

    rows = []
    for name, runs in group(read("unknown_n_clusters")["rows"], "dataset").items():
        by_method = group(runs, "method")
        title = f"{DATASETS[name].title}, {runs[0]['classes']} classes"
        rows.append([title, *(cell(by_method.get(method, [])) for method in methods)])
    return markdown_table(["set", *methods.values()], rows)


def outliers_table() -> str:
    """Share of the outliers found by data set and kind, and of the other texts that were put aside wrongly."""

    def percent(runs: list[Row], value: Callable[[Row], float]) -> str:
        return f"{100 * float(np.mean([value(run) for run in runs])):.1f}" if runs else ""

    rows = []
    for name, runs in group(read("outliers")["rows"], "dataset").items():
        mixed, clean = ([run for run in runs if run["mixed"] == mixed] for mixed in (True, False))
        rows.append(
            [
                f"{DATASETS[name].title} ({len(mixed)})",
                *(percent(mixed, lambda run, kind=kind: run["found"][kind]) for kind in mixed[0]["found"]),
                percent(mixed, lambda run: float(np.mean(list(run["found"].values())))),
                percent(mixed, lambda run: run["false_alarms"]),
                percent(mixed, lambda run: float(np.mean(list(run["new_found"].values())))),
                percent(mixed, lambda run: run["new_false_alarms"]),
                " / ".join(percent(mixed, lambda run, key=key: run[key]) for key in ("left", "expected_left")),
                percent(clean, lambda run: run["false_alarms"]),
            ]
        )
    header = ["set (seeds)", "letters", "words", "biomedical", "snippets", "found", "wrongly", "new: found"]
    return markdown_table([*header, "new: wrongly", "left / expected", "nothing mixed in: wrongly"], rows)


def onnx_speed_table() -> str:
    columns = [
        ("set", "{title}"),
        ("new texts", "{texts:,}"),
        ("by torch, seconds", "{torch_seconds:.1f}"),
        ("by onnxruntime, seconds", "{onnx_seconds:.1f}"),
        ("times as quick", "{faster:.1f}"),
        ("same cluster", "{agree:.1f} %"),
        ("exported", "{exported_mb:.0f} MB"),
    ]
    return format_rows([row | {"title": DATASETS[row["set"]].title} for row in read("onnx_speed")["rows"]], columns)


def install_size_table() -> str:
    """Disk space and packages of installations, with and without torch."""
    if not (RESULTS / "install_size.json").exists():
        return "`benchmarks/install_size.py` was not run yet."
    columns = [
        ("installation", "{installation} {version}"),
        ("megabytes", "{mb:,}"),
        ("packages", "{packages}"),
        ("torch", "{torch}"),
    ]
    rows = [row | {"torch": "yes" if row["has_torch"] else "no"} for row in read("install_size")["rows"]]
    return format_rows(rows, columns)


def light_fit_table() -> str:
    """A fit without training on embeddings of ONNX Runtime, beside the same fit on embeddings of torch."""
    if not (RESULTS / "light_fit.json").exists():
        return "`benchmarks/light_fit.py` was not run yet."
    columns = [
        ("set", "{title}"),
        ("texts", "{texts:,}"),
        ("encoding: times torch's seconds", "{encoding_ratio:.2f}"),
        ("largest difference of E", "{largest_difference:.0e}"),
        ("ARI of both labels", "{ari_of_labels:.1f}"),
        ("torch: ACC / NMI", "{torch[acc]:.1f} / {torch[nmi]:.1f}"),
        ("ONNX: ACC / NMI", "{onnx[acc]:.1f} / {onnx[nmi]:.1f}"),
    ]
    return format_rows([row | {"title": DATASETS[row["set"]].title} for row in read("light_fit")["rows"]], columns)


def distributed_table() -> str:
    """Time, memory and traffic of training steps, label updates and label search in one process and in several."""
    rows = []
    for row in read("distributed")["rows"]:
        ranks = row["each"]
        if row["task"] == "steps":
            step = max(rank["seconds_a_step"] for rank in ranks)
            seconds = f"{step:.2f} per step, {ranks[0]['seconds_to_encode']:.0f} to encode"
            sent = f"{ranks[0]['gradient_bytes_a_step'] / 1e6:.1f} MB of gradients per step"
        elif row["task"] == "renewal":
            update = max(rank["seconds"] for rank in ranks)
            seconds = f"{update:.2f} per label update ({ranks[0]['steps']} Newton steps)"
            sent = f"{max(rank['bytes'] for rank in ranks) / 1e6:.1f} MB per label update"
        else:
            stages = join(ranks[0]["seconds_by_stage"].items(), "{0[0]} {0[1]:.1f}")
            seconds = f"{max(rank['seconds'] for rank in ranks):.1f} ({stages})"
            sent = f"{max(rank['bytes'] for rank in ranks) / 1e6:.0f} MB"
        memory = join((rank["peak_memory_mb"] for rank in ranks), "{:,}")
        task = {"steps": "training steps", "renewal": "label update", "labels": "label search"}[row["task"]]
        rows.append([task, row["processes"], seconds, memory, sent if row["processes"] > 1 else "nothing"])
    return markdown_table(["", "processes", "seconds", "peak memory of each, MB", "sent by each"], rows)


def cluster_estimate_table() -> str:
    """Estimated cost of 100 million texts on 16 nodes of 32 cores, from the cost in one process here."""
    by_task = {(row["task"], row["processes"]): row["each"][0] for row in read("distributed")["rows"]}
    steps, renewal, labels = (by_task[task, 1] for task in ("steps", "renewal", "labels"))
    texts, processes, dim, clusters, gigabyte = 100_000_000, 16 * 32, 384, 100, 2**30 / 4  # of float32
    own = texts / processes
    encoding = own * steps["seconds_to_encode"] / steps["texts_a_process"]
    solving = own * renewal["seconds"] / renewal["rows_a_process"]
    rows = [
        ["texts of a process", f"{own:,.0f}"],
        ["to encode and predict all once", f"{encoding / 60:.0f} minutes"],
        ["embeddings and predictions (100 clusters) of a process", f"{own * (dim + clusters) / gigabyte:.2f} GB"],
        [
            "one transport over all texts, if all are trained on (`max_fit_texts=0`)",
            f"{solving:.1f} seconds and the sums",
        ],
        *(_estimate_label_search(labels, n_texts, 64) for n_texts in (100_000, 1_000_000, texts)),
    ]
    return markdown_table(["", ""], rows)


def _estimate_label_search(measured: Row, texts: int, processes: int) -> list[str]:
    """Estimate the label search of so many training texts from its stages in one process.

    The comparison of candidates and the start are made on samples, so they take the same time. The time of features and
    rounds grows with the texts of a process, that of exact neighbours with these times all texts.
    """
    stages, n_measured, own = measured["seconds_by_stage"], measured["texts_a_process"], texts / processes
    values_per_text = (
        3 * (384 + 256 + 200) + 2 * 100
    )  # feature sets, their mix and its average; P and Q of 100 clusters
    durations = {
        "samples": stages["comparison"] + stages["start"],
        "features and rounds": (stages["features"] + stages["rounds"]) * own / n_measured,
        "exact neighbours": stages["neighbours"] * own * texts / n_measured**2,
    }
    memory = f"{own * values_per_text * 4 / 2**30:.2g} GB in each"
    return [
        f"label search of {texts:,} training texts on {processes} processes",
        join([*(f"{name} {_format_duration(seconds)}" for name, seconds in durations.items()), memory]),
    ]


def _format_duration(seconds: float) -> str:
    """Format a duration in the largest unit of which there are at least two.

    >>> [_format_duration(seconds) for seconds in (5, 150, 9000, 400000)]
    ['5 seconds', '2 minutes', '2 hours', '5 days']
    """
    for unit, length in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} seconds"


def subsample_table() -> str:
    """ACC, mean recall of the classes and lost classes by the number of texts that train."""
    rows = []
    for (name, part), runs in group(_by_dataset_and_part(read("subsample")["rows"]), "dataset", "part").items():
        by_drawing = group(runs, "drawn")
        cells = [
            "{:.1f} / {:.1f} / {:.1f}".format(*means(by_drawing[drawn], "acc", "mean_recall", "lost"))
            for drawn in (("all", "all") if part == 1 else ("random", "spread"))
        ]
        trained, per_class = runs[0]["trained_on"], runs[0]["trained_on"] / runs[0]["classes"]
        n_seeds = len({run["seed"] for run in runs})
        rows.append([DATASETS[name].title, f"{trained:,}", f"{per_class:.0f}", n_seeds, *cells])
    header = ["set", "training texts", "per class", "seeds", "random", "stratified"]
    return markdown_table(header, rows)


def _by_dataset_and_part(runs: list[Row]) -> list[Row]:
    order = list(dict.fromkeys(run["dataset"] for run in runs))
    return sorted(runs, key=lambda run: (order.index(run["dataset"]), run["part"]))


def novel_clusters_table() -> str:
    """Left-out classes that an update proposes as clusters, and false proposals, by set and by half."""
    content, rows = read("novel_clusters"), []

    def add(title: str, trials: list[Row]) -> None:
        with_class = [trial for trial in trials if trial["leave_out"]]
        without = [trial for trial in trials if not trial["leave_out"]]
        found = [trial for trial in with_class if trial["found"]]
        scores = "{:.2f} / {:.2f}".format(*means(found, "precision", "recall")) if found else ""
        false_with, false_without = (sum(trial["false"] for trial in part) for part in (with_class, without))
        counts = (f"{len(found)} of {len(with_class)}", scores, f"{false_with}", f"{false_without} in {len(without)}")
        rows.append([title, *counts])

    for half, names in content["halves"].items():
        trials = [trial for trial in content["rows"] if trial["dataset"] in names]
        for name, own in group(trials, "dataset").items():
            add(DATASETS[name].title if name in DATASETS else name, own)
        add(f"all of half {half}", trials)
    header = ["set", "found", "precision / recall", "false beside it", "false with no new class"]
    return markdown_table(header, rows)


def partial_labels_table() -> str:
    """ACC and NMI with a few labels and without, and the ACC of a model that is given all other labels."""
    content, rows = read("partial_labels"), []
    for name, runs in group(content["rows"], "dataset").items():
        gains = [run["acc"] - run["acc_without"] for run in runs]
        rows.append(
            [
                DATASETS[name].title,
                len(runs),
                runs[0]["given"],
                "{:.1f} / {:.1f}".format(*means(runs, "acc_without", "nmi_without")),
                "{:.1f} / {:.1f}".format(*means(runs, "acc", "nmi")),
                f"{np.mean(gains):+.1f} ({min(gains):+.1f} to {max(gains):+.1f})",
                f"{content['most'][name]:.1f}" if name in content["most"] else "",
            ]
        )
    return markdown_table(["set", "seeds", "known texts", "without", "with", "ACC gained", "all labels"], rows)


def other_tools_table() -> str:
    runs = read("other_tools")["rows"]
    by_tool_and_dataset = group(runs, "tool", "dataset")
    classes = {run["dataset"]: run["classes"] for run in runs}

    def cell(runs: list[Row]) -> str:
        if not runs:
            return ""
        keys = ("acc", "nmi", "clusters", "processor_seconds", "left_out")
        acc, nmi, clusters, seconds, left_out = means(runs, *keys)
        outliers = f", {left_out:.0f} % left out" if left_out else ""
        return f"{acc:.1f} / {nmi:.1f}; {clusters:.0f}; {seconds:.0f} s{outliers} ({len(runs)}s)"

    rows = [
        [title, *(cell(by_tool_and_dataset.get((tool, name), [])) for name in classes)]
        for tool, title in TOOL_TITLES.items()
        if any(run["tool"] == tool for run in runs)
    ]
    return markdown_table(["tool", *(f"{DATASETS[name].title}, {n} classes" for name, n in classes.items())], rows)


def load_test_table() -> str:
    content = read("load_test")
    stream, crowd, speed = content["stream"], content["crowd"], read("predict_speed")["stream"]
    unchanged = "yes" if crowd["model_unchanged"] else "no"
    rows = [
        ["texts in one stream, rows written", f"{content['texts']:,}, {content['rows_written']:,}"],
        ["minutes", f"{stream['seconds'] / 60:.1f}"],
        ["throughput over that of `SentenceTransformer.encode` (100,000 texts)", f"{speed['times_plain']:.1f}"],
        [
            "MB in use in each quarter of the time (mean), and at most",
            join((*stream["megabytes_by_quarter"], stream["megabytes_at_the_most"]), "{:,.0f}"),
        ],
        [
            f"{crowd['processes']} processes at once on one model: succeeded, different results, model unchanged",
            f"{crowd['succeeded']}, {crowd['different_results']}, {unchanged}",
        ],
    ]
    return markdown_table([f"`{content['command']}`", ""], rows)


def serve_table() -> str:
    """Latency of the service by clients, then endurance, and what a killed worker costs."""
    content = read("serve")
    rows = []
    for kind in [kind for kind in ("onnx", "torch") if kind in content]:
        for row in content[kind]["clients"]:
            times = [f"{row[name]:,.0f}" for name in ("p50_ms", "p99_ms", "requests_a_second")]
            load = f"{content[kind]['load_average'][0]:.0f}"
            rows.append([f"bundled, {kind}", row["clients"], row["requests"], row["errors"], *times, load])
    long, kill = content["endurance"], content["kill"]
    times = [f"{long[name]:,.0f}" for name in ("p50_ms", "p99_ms", "requests_a_second")]
    load = f"{long['load_average'][0]:.0f}"
    rows.append(["small, onnx", long["clients"], f"{long['requests']:,}", long["errors"], *times, load])
    header = ["encoder", "clients", "requests", "errors", "p50, ms", "p99, ms", "requests a second", "load average"]
    memory = join(long["megabytes_by_quarter"], "{:,.0f}")
    return (
        f"{markdown_table(header, rows)}\n\nOne text a request, {long['workers']} workers, {long['machine']}. An error "
        "is also a prediction that is not that of the text alone. The workers of the last row had, in each quarter of "
        f"the time, {memory} MB. A worker killed by SIGKILL under {kill['clients']} clients cost {kill['failed']} of "
        f"{kill['requests']:,} requests, and {kill['failed_of_200_after']} of 200 after it was replaced."
    )


def views_table() -> str:
    """What each way to make views changes in the texts, and the scores of the default with it."""
    measured = {(row["dataset"], row["views"]): row for row in read("views")["rows"]}
    runs = Store(VIEW_RUNS).runs()
    rows = []
    for spec in (*VIEW_SPECS, GIVEN):
        facts = [measured[name, spec] for name in VIEW_DATASETS if (name, spec) in measured]
        changes = ["", "", ""]
        if facts:
            words, cosine = means(facts, "words_changed", "cosine")
            speeds = [fact["texts_a_second"] for fact in facts if fact["texts_a_second"]]
            changes = [f"{100 * words:.0f} %", f"{cosine:.2f}", f"{min(speeds):,}" if speeds else ""]
        method = "rstc-given" if spec == GIVEN else "rstc"
        setting = {} if spec in (GIVEN, DEFAULT_VIEWS) else {"views": spec}
        cells = [
            scores_cell(
                [run for run in runs if (run["dataset"], run["method"], run["changes"]) == (name, method, setting)]
            )
            for name in VIEW_DATASETS
        ]
        rows.append([f"`{spec}`", *changes, *cells])
    return markdown_table(["views", "words changed", "cosine", "texts a second", *titles(VIEW_DATASETS)], rows)


SUITE_TITLES = {
    "kmeans": "k-means",
    "umap-kmeans": "UMAP + k-means",
    "bertopic": "BERTopic, `nr_topics` given",
    "saot-clustering": "`SAOTClustering`",
    "rstc": "rstc",
    "rstc-trained": "rstc, `training=always`",
}


Cells = dict[tuple[str, str, str], dict[str, tuple[float, ...]]]


def _suite_cells() -> Cells:
    """Return mean ACC, NMI and seconds of each method by half, set and variant."""
    return {
        key: {method: tuple(means(runs, "acc", "nmi", "seconds")) for method, runs in group(rows, "method").items()}
        for key, rows in group(read("suite")["rows"], "half", "dataset", "variant").items()
    }


def suite_table(*variants: str) -> str:
    """Make the table of the methods over the sets of the suite by half, of some variants or of all."""
    lines = []
    for half in ("A", "B"):
        cells = [
            by_method
            for (own_half, _, variant), by_method in _suite_cells().items()
            if own_half == half and len(by_method) == len(SUITE_TITLES) and (not variants or variant in variants)
        ]
        for method, title in SUITE_TITLES.items():
            acc = np.array([cell[method][0] for cell in cells])
            best = np.array([max(other[0] for other in cell.values()) for cell in cells])
            lines.append(
                [
                    f"{half} ({len(cells)})",
                    title,
                    f"{acc.mean():.1f} / {np.mean([cell[method][1] for cell in cells]):.1f}",
                    f"{(best - acc).max():.1f}",
                    f"{(best - acc <= 1).mean():.0%}",
                ]
            )
    return markdown_table(["half (cells)", "method", "mean ACC / NMI", "worst regret", "within 1 of the best"], lines)


def suite_significance_table() -> str:
    """The default against each other method on the samples of 1,000: mean differences of ACC, and sign-flip tests."""
    cells = {key: cell for key, cell in _suite_cells().items() if key[2] == "1000" and set(cell) >= set(SUITE_TITLES)}
    lines = []
    for method, title in SUITE_TITLES.items():
        if method == "rstc":
            continue
        line = [title]
        for halves in ("A", "B", "AB"):
            gaps = np.array([cell["rstc"][0] - cell[method][0] for key, cell in cells.items() if key[0] in halves])
            line.append(f"{gaps.mean():+.1f}, {(gaps > 0).sum()} of {len(gaps)} (p = {sign_flip_p_value(gaps):.3f})")
        lines.append(line)
    return markdown_table(["rstc against", "half A", "half B", "both"], lines)


def suite_sets_table() -> str:
    """Make the table of ACC and NMI for each set and variant of the suite."""
    lines = [
        [
            half,
            dataset,
            variant,
            *(
                "–" if method not in cell else f"{cell[method][0]:.1f} / {cell[method][1]:.1f}"
                for method in SUITE_TITLES
            ),
        ]
        for (half, dataset, variant), cell in sorted(_suite_cells().items())
    ]
    return markdown_table(["half", "set", "texts", *SUITE_TITLES.values()], lines)


CONFIDENCE_TITLES = {
    "rstc": "`confidence`",
    "rstc, head": "head's probability",
    "rstc, distance ratio": "distance ratio",
    "k-means, distance ratio": "k-means, distance ratio",
    "bertopic, hdbscan": "BERTopic, HDBSCAN",
}


def _confidence_rows(variant: str) -> dict[tuple[str, str], dict[str, list[Row]]]:
    """Return the rows of each half and set by method."""
    rows = [row for row in read("confidence")["rows"] if row["variant"] == variant and row["dataset"] != "salad"]
    return {key: group(runs, "method") for key, runs in sorted(group(rows, "half", "dataset").items())}


def confidence_table(variant: str = "1000") -> str:
    """AURC of each measure of confidence by set, and calibration, error of the surest half and cost of rstc's."""
    lines = []
    for (half, name), runs in _confidence_rows(variant).items():
        own = runs["rstc"]
        acc, ece, error, surest = means(own, "acc", "ece", "error", "surest_half")
        passes = f"{runs['cost'][0]['passes']:.2f}" if "cost" in runs else ""
        areas = {method: means(runs[method], "aurc")[0] for method in CONFIDENCE_TITLES}
        best = min(areas, key=lambda method: areas[method])
        cells = [f"**{area:.3f}**" if method == best else f"{area:.3f}" for method, area in areas.items()]
        lines.append(
            [
                half,
                f"{name} ({len(own)})",
                f"{acc:.1f}",
                *cells,
                f"{ece:.3f}",
                f"{surest:.1f} of {error:.1f}",
                passes,
            ]
        )
    header = ["half", "set (seeds)", "ACC", *CONFIDENCE_TITLES.values(), "ECE", "error of the surest half", "passes"]
    return markdown_table(header, lines)


LANGUAGE_METHOD_TITLES = {
    "kmeans": "k-means",
    "bertopic": "BERTopic",
    "rstc-uncentred": "rstc without centring",
    "rstc": "rstc",
    "rstc-auto": "rstc, number estimated",
    "kmeans-multilingual": "k-means, multilingual",
    "bertopic-multilingual": "BERTopic, multilingual",
    "rstc-multilingual": "rstc, multilingual",
    "rstc-both": "rstc, both",
}


def languages_table() -> str:
    """Make the table of ACC, NMI and largest cluster of each method on texts in other languages than English."""
    rows = group(read("languages")["rows"], "dataset")
    measured = {row["method"] for own in rows.values() for row in own}
    methods = [method for method in LANGUAGE_METHOD_TITLES if method in measured]
    lines = []
    for name, own in sorted(rows.items()):
        cells = []
        for method in methods:
            runs = [row for row in own if row["method"] == method]
            acc, nmi, largest = means(runs, "acc", "nmi", "largest") if runs else (0.0, 0.0, 0.0)
            cells.append(f"{acc:.1f} / {nmi:.1f} ({largest:.0f} %)" if runs else "")
        lines.append([f"{name} ({own[0]['classes']}, {own[0]['largest_class']:.0f} %)", *cells])
    return markdown_table(["set (classes, largest)", *(LANGUAGE_METHOD_TITLES[method] for method in methods)], lines)


def confidence_goals_table() -> str:
    """How many sets meet each goal, by half."""
    lines = []
    for half in ("A", "B"):
        sets = [runs for (own_half, _), runs in _confidence_rows("1000").items() if own_half == half]
        areas = [{method: means(runs[method], "aurc")[0] for method in CONFIDENCE_TITLES} for runs in sets]
        lowest = sum(min(area, key=lambda method: area[method]) == "rstc" for area in areas)
        halved = 0
        for runs in sets:
            error, surest = means(runs["rstc"], "error", "surest_half")
            halved += surest <= error / 2
        ece = [means(runs["rstc"], "ece")[0] for runs in sets]
        heads = [means(runs["rstc, head"], "ece")[0] for runs in sets]
        lines.append(
            [
                half,
                f"{lowest} of {len(sets)}",
                f"{halved} of {len(sets)}",
                f"{np.median(ece):.3f} ({min(ece):.3f} to {max(ece):.3f})",
                f"{np.median(heads):.3f}",
            ]
        )
    header = ["half", "lowest AURC of all", "error of the surest half at most half of all", "ECE, median (range)"]
    return markdown_table([*header, "ECE of the head's probability"], lines)


def verdicts_table() -> str:
    """What runs say about their clusters, on the sets and on random words."""
    kinds: dict[str, list[Row]] = {}
    for row in read("confidence")["rows"]:
        if row["dataset"] == "salad":
            kinds.setdefault(f"2,000 texts of random words, drawn from {row['words']:,}", []).append(row)
        elif row["method"] in ("rstc", "rstc, K estimated"):
            number = "given" if row["method"] == "rstc" else "estimated"
            kinds.setdefault(f"sets, number of clusters {number}", []).append(row)
    verdicts = ("stable", "partly stable", "one topic", "no structure", "random words")
    lines = [
        [kind, str(len(rows)), *(str(sum(row["verdict"] == verdict for row in rows)) for verdict in verdicts)]
        for kind, rows in kinds.items()
    ]
    return markdown_table(["texts", "runs", *verdicts], lines)


def language_detection_table() -> str:
    """Accuracy of language detectors on short texts, errors on English sets, and size."""
    rows = read("language_detection")["rows"]
    (ours,) = (row["one_language"] for row in rows if row["detector"] == "rstc")
    lines = [
        ["rstc, in files of one language", *(f"{100 * np.mean(list(ours[s].values())):.1f} %" for s in ours), "", ""]
    ]
    for row in sorted(rows, key=lambda row: -row["sentences"]["mean"]):
        accuracy = [f"{100 * row[source]['mean']:.1f} %" for source in ours]
        wrong = f"{100 * max(row['not_english'].values()):.1f} %"
        lines.append([row["detector"], *accuracy, wrong, f"{row['megabytes']:.1f} MB"])
    return markdown_table(["detector", *ours, "taken for another language", "size"], lines)
