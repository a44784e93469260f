"""Pages for tests: a run of any number of clusters made of another run's summary, and the parts of its content."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage

from rstc.report.html.render import render_page
from rstc.results.corrected_run import CorrectedRun
from rstc.results.points import Points
from rstc.results.summary import TruthScores

SUBJECTS = [
    "card",
    "transfer",
    "top up",
    "exchange rate",
    "PIN",
    "refund",
    "cash withdrawal",
    "direct debit",
    "account",
]
VERBS = [
    "arrival",
    "not working",
    "declined",
    "fee charged",
    "pending for days",
    "cancelled by mistake",
    "limit",
    "lost",
]


def make_names(n: int) -> list[str]:
    """Return n different names, some of them long."""
    names = [f"{subject} {verb}" for verb in VERBS for subject in SUBJECTS]
    return [names[i % len(names)] + (f" {i // len(names) + 1}" if i >= len(names) else "") for i in range(n)]


def make_run(example: CorrectedRun, n_clusters: int, n_texts: int, n_classes: int = 0, seed: int = 0) -> CorrectedRun:
    """Return a run of random clusters whose sizes differ, with true classes if there is a number of them."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, n_clusters + 1) ** 0.6
    labels = np.sort(
        np.concatenate([np.arange(n_clusters), rng.choice(n_clusters, n_texts - n_clusters, p=weights / weights.sum())])
    )
    names, centres = make_names(n_clusters), rng.normal(size=(n_clusters, 2))
    texts = [f"Text {i} about {names[label]}, as a customer writes it" for i, label in enumerate(labels.tolist())]
    spots = centres[labels] + rng.normal(0, 0.12, (n_texts, 2))
    low, high = spots.min(0), spots.max(0)
    points = Points(
        texts,
        np.arange(n_texts),
        labels.astype(np.int64),
        rng.uniform(0.3, 1, n_texts).astype(np.float32),
        (65535 * (spots - low) / (high - low)).astype(np.uint16),
    )
    entry, summary = replace(example.summary.clusters[0], reliability=None), example.summary
    clusters = []
    for cluster, name in enumerate(names):
        rows = np.flatnonzero(labels == cluster).tolist()
        quotes = {"typical_rows": rows[:5], "typical": [texts[row] for row in rows[:5]]}
        doubtful = {"doubtful_rows": rows[-5:], "doubtful": [texts[row] for row in rows[-5:]]}
        share = {"size": len(rows), "share": len(rows) / n_texts, "estimated_share": len(rows) / n_texts}
        numbers = {"cluster": cluster, "name": name, "label": None, "keywords": name.split(), "near": []}
        clusters.append(replace(entry, **quotes, **doubtful, **share, **numbers))
    tree = [[int(a), int(b), round(d, 4), int(n)] for a, b, d, n in linkage(centres, "average")]
    return CorrectedRun(
        replace(
            summary,
            input=replace(
                summary.input, n_texts=n_texts, n_shown=n_texts, n_rows=n_texts, n_missing=0, n_trained=n_texts
            ),
            clusters=clusters,
            class_distribution=[1 / n_clusters] * n_clusters,
            hierarchy=tree,
            truth=make_truth(n_classes, n_clusters, n_texts, rng) if n_classes else None,
            reliability=None,
        ),
        points,
    )


def make_truth(n_classes: int, n_clusters: int, n_texts: int, rng: np.random.Generator) -> TruthScores:
    """Return scores whose matrix has most texts on its diagonal."""
    noise = 0.03 * rng.random((n_classes, n_clusters)) ** 8
    matrix = rng.poisson(
        (np.eye(n_classes, n_clusters) * rng.uniform(0.3, 1, (n_classes, 1)) + noise) * n_texts / n_classes
    )
    return TruthScores(
        column="intent",
        n_texts=n_texts,
        acc=0.745,
        nmi=0.851,
        ari=0.62,
        classes=[name.replace(" ", "_") for name in make_names(n_classes)],
        clusters=list(range(n_clusters)),
        matrix=matrix.tolist(),
        calibration=None,
    )


def make_over_time(run: CorrectedRun, n_periods: int, seed: int = 0) -> dict[str, Any]:
    """Return `content.over_time`: every fifth cluster has another trend, and one of them a peak."""
    rng, ids = np.random.default_rng(seed), [entry.cluster for entry in run.summary.clusters]
    time = np.linspace(0, 1, n_periods)
    shapes = {
        "new": np.clip(time - 0.6, 0, None) * 2.5,
        "growing": 0.3 + time,
        "fading": 1.3 - time,
        "gone": np.clip(0.4 - time, 0, None) * 2.5,
        "steady": np.ones(n_periods),
    }
    order = ["new", "growing", "fading", "gone", *["steady"] * 6]
    trends = [order[i % len(order)] for i in range(len(ids))]
    expected = np.array([entry.size for entry in run.summary.clusters])[:, None] / n_periods
    counts = rng.poisson(expected * np.array([shapes[trend] for trend in trends]))
    for i in range(0, len(ids), 7):
        counts[i, n_periods // 2] += 3 * int(expected[i, 0]) + 4
    totals = counts.sum(0)
    shares = counts / np.maximum(totals, 1)
    error = 1.96 * np.sqrt(shares * (1 - shares) / np.maximum(totals, 1)) + 1 / np.maximum(totals, 2)
    first, clusters = np.datetime64("2026-01-05"), []
    for i, cluster in enumerate(ids):
        peak = int(counts[i].argmax())
        rows = np.flatnonzero(run.points.clusters == cluster)[: counts[i, peak]].tolist()
        clusters.append(
            {
                "id": cluster,
                "counts": counts[i].tolist(),
                "shares": shares[i].tolist(),
                "low": np.clip(shares[i] - error[i], 0, 1).tolist(),
                "high": np.clip(shares[i] + error[i], 0, 1).tolist(),
                "trend": trends[i],
                "change": {"new": 9.0, "growing": 3.1, "fading": 0.3, "gone": 0.05, "steady": 1.02}[trends[i]],
                "q_value": 0.5 if trends[i] == "steady" else 0.001,
                "sentence": f"The share went from {shares[i][0]:.1%} to {shares[i][-1]:.1%}, which is {trends[i]}.",
                "peak": {"period": peak, "rows": rows} if i % 7 == 0 else None,
            }
        )
    return {
        "column": "created at",
        "every": "week",
        "periods": [str(first + 7 * i) for i in range(n_periods)],
        "totals": totals.tolist(),
        "n_missing": 3,
        "clusters": clusters,
    }


def make_groups(run: CorrectedRun, column: str, values: list[str], seed: int = 0) -> dict[str, Any]:
    """Return one entry of `content.groups`, in which one of eight cells differs."""
    rng, ids = np.random.default_rng(seed), [entry.cluster for entry in run.summary.clusters]
    factor = np.where(
        rng.random((len(ids), len(values))) < 0.12, rng.choice([0.2, 0.4, 2.5, 4], (len(ids), len(values))), 1.0
    )
    sizes = np.array([entry.size for entry in run.summary.clusters])
    counts = rng.poisson(sizes[:, None] / len(values) * factor)
    totals = counts.sum(0)
    cells = []
    for i in range(len(ids)):
        row = []
        for j in range(len(values)):
            share = counts[i, j] / max(totals[j], 1)
            others = (counts[i].sum() - counts[i, j]) / max(totals.sum() - totals[j], 1)
            error = 1.96 * float(np.sqrt(share * (1 - share) / max(totals[j], 1)))
            cell = {"count": int(counts[i, j]), "share": share, "low": max(0, share - error), "high": share + error}
            sign = 0 if factor[i, j] == 1 else int(np.sign(factor[i, j] - 1))
            row.append(
                {**cell, "ratio": share / others if others else None, "q_value": 0.01 if sign else 0.4, "sign": sign}
            )
        cells.append(row)
    names = make_names(len(ids))
    findings = [
        f"“{names[i]}” is {cells[i][j]['ratio'] or 0:.1f} times as frequent for {values[j]} as for the others."
        for i in range(len(ids))
        for j in range(len(values))
        if cells[i][j]["sign"] > 0
    ]
    effect = {"effect": 0.21, "p_value": 0.0001}
    return {
        "column": column,
        "values": values,
        "totals": totals.tolist(),
        "n_missing": 4,
        **effect,
        "clusters": ids,
        "cells": cells,
        "findings": findings,
    }


def make_levels(run: CorrectedRun) -> list[dict[str, Any]]:
    """Return `content.levels`: a coarse level of two groups, the run's clusters, and the halves of all clusters."""
    ids = [entry.cluster for entry in run.summary.clusters]
    names = {entry.cluster: entry.name for entry in run.summary.clusters}
    half = len(ids) // 2
    fine = []
    for cluster in ids:
        rows = np.flatnonzero(run.points.clusters == cluster).tolist()
        for part, start in enumerate((0, len(rows) // 2)):
            chosen = rows[start : len(rows) // 2] if part == 0 else rows[start:]
            fine.append({"name": f"{names[cluster]}, part {part + 1}", "clusters": [cluster], "rows": chosen})
    coarse = [{"name": "first half", "clusters": ids[:half]}, {"name": "second half", "clusters": ids[half:]}]
    chosen_level = [{"name": names[cluster], "clusters": [cluster]} for cluster in ids]
    return [
        {"name": "coarse", "n_clusters": 2, "is_chosen": False, "groups": coarse},
        {"name": "medium", "n_clusters": len(ids), "is_chosen": True, "groups": chosen_level},
        {"name": "fine", "n_clusters": len(fine), "is_chosen": False, "groups": fine},
    ]


def write_made_page(path: Path, run: CorrectedRun, **parts: Any) -> Path:
    """Write the page of a run with parts added to its content, which is data that the page's policy does not cover."""
    html = render_page(run)
    pattern = re.compile(r'(<script type="application/json" id="content">)(.*?)(</script>)', re.DOTALL)
    match = pattern.search(html)
    assert match is not None
    content = json.dumps(json.loads(match[2]) | parts).replace("<", "\\u003c")
    path.write_text(html[: match.start(2)] + content + html[match.end(2) :], encoding="utf-8")
    return path
