"""Fill the generated tables of README.md and docs/*.md, and the demo screen, from the committed results.

    python benchmarks/tables.py          rewrite them
    python benchmarks/tables.py --check  fail if one is out of date

A generated table stands between two HTML comments, each on a line of its own:

    <!-- NAME:start -->
    <!-- NAME:end -->

What is between them is replaced; text around them is not touched. PAGES lists the names of each page with the function
that makes the table. To move a table to another page, move its two comments and its entry of PAGES; every name must
stand exactly once in its page.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from paper_tables import (
    collapse_table,
    datasets_table,
    m2_table,
    methods_table,
    significance_table,
)
from rstc.benchmark.datasets import PAPER_DATASETS, SMALL_DATASETS
from script_tables import (
    algorithm1_table,
    chaos_table,
    cluster_estimate_table,
    confidence_goals_table,
    confidence_table,
    count_table,
    demo_screen,
    distributed_table,
    dry_run_table,
    encoding_speed_table,
    end_to_end_table,
    install_size_table,
    language_detection_table,
    languages_table,
    light_fit_table,
    load_test_table,
    map_table,
    n_clusters_table,
    novel_clusters_table,
    onnx_speed_table,
    other_tools_table,
    outliers_table,
    paper_schedule_sentence,
    partial_labels_table,
    pot_table,
    report_page_table,
    scale_table,
    serve_table,
    stages_table,
    subsample_table,
    suite_sets_table,
    suite_significance_table,
    suite_table,
    training_step_table,
    transport_memory_table,
    transport_table,
    unknown_n_clusters_table,
    verdicts_table,
    views_table,
)

ROOT = Path(__file__).parent.parent
PAGES: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {
        "results": lambda: suite_table("1000"),
        "demo": demo_screen,
    },
    "docs/results.md": {
        "suite": suite_table,
        "suite_significance": suite_significance_table,
        "suite_sets": suite_sets_table,
        "datasets": datasets_table,
        "whole": lambda: methods_table(*PAPER_DATASETS[:4]),
        "whole2": lambda: methods_table(*PAPER_DATASETS[4:]),
        "small": lambda: methods_table(*SMALL_DATASETS),
        "whole_ari": lambda: methods_table(*PAPER_DATASETS[:4], metrics=("ari", "ami")),
        "whole2_ari": lambda: methods_table(*PAPER_DATASETS[4:], metrics=("ari", "ami")),
        "significance": significance_table,
        "collapse": collapse_table,
        "m2": m2_table,
        "paper_schedule": paper_schedule_sentence,
    },
    "docs/saot.md": {"algorithm1": algorithm1_table},
    "docs/report.md": {"report_page": report_page_table},
    "docs/views.md": {"views": views_table},
    "docs/n_clusters.md": {"n_clusters": n_clusters_table, "unknown_n_clusters": unknown_n_clusters_table},
    "docs/noise.md": {"outliers": outliers_table},
    "docs/confidence.md": {
        "confidence": confidence_table,
        "confidence-goals": confidence_goals_table,
        "verdicts": verdicts_table,
    },
    "docs/scale.md": {
        "onnx_speed": onnx_speed_table,
        "subsample": subsample_table,
        "distributed": distributed_table,
        "cluster_estimate": cluster_estimate_table,
    },
    "docs/install.md": {"install_size": install_size_table, "light_fit": light_fit_table},
    "docs/reliability.md": {"chaos": chaos_table, "load_test": load_test_table},
    "docs/serve.md": {"serve": serve_table},
    "docs/comparison.md": {"other_tools": other_tools_table},
    "docs/languages.md": {"language_detection": language_detection_table, "languages": languages_table},
    "docs/updates.md": {"novel_clusters": novel_clusters_table},
    "docs/programs.md": {"dry_run": dry_run_table},
    "docs/partial_labels.md": {"partial_labels": partial_labels_table},
    "docs/performance.md": {
        "training_step": training_step_table,
        "encoding_speed": encoding_speed_table,
        "transport": transport_table,
        "transport_memory": transport_memory_table,
        "pot": pot_table,
        "end_to_end": end_to_end_table,
        "stages": stages_table,
        "count": count_table,
        "map": map_table,
        "scale": scale_table,
    },
}


def fill_page(text: str, tables: dict[str, Callable[[], str]]) -> str:
    """Replace what stands between the comments of each table."""
    for name, make_table in tables.items():
        parts = re.split(rf"(<!-- {name}:start -->).*?(<!-- {name}:end -->)", text, flags=re.DOTALL)
        if len(parts) != 4:
            sys.exit(f"expected exactly one place for the table {name!r}")
        before, start, end, after = parts
        text = f"{before}{start}\n{make_table()}\n{end}{after}"
    return text


def main() -> None:
    out_of_date = []
    for name, tables in PAGES.items():
        path = ROOT / name
        before = path.read_text(encoding="utf-8")
        after = fill_page(before, tables)
        if before != after:
            out_of_date.append(name)
            if "--check" not in sys.argv:
                path.write_text(after, encoding="utf-8")
    if out_of_date and "--check" in sys.argv:
        sys.exit(f"out of date: {', '.join(out_of_date)}; run python benchmarks/tables.py")


if __name__ == "__main__":
    main()
