"""The methods that the benchmark compares: the rows of the paper's Table 1, its appendix's estimators, and our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from rstc.benchmark.datasets import Dataset
from rstc.benchmark.datasets import dataset as dataset_named
from rstc.errors import InputError
from rstc.estimator import RSTC


@dataclass(frozen=True)
class Method:
    """A row of the table.

    Attributes:
        title: how tables and figures call it.
        family: which of the ways below makes its estimator.
        settings: what it sets in that estimator.
        embeds: whether it takes embeddings that are there already.
        views: whether it is given the set's two views of each text.
        watched: whether its clusters can be watched while it trains.
        clusters: what it is told instead of the number of classes; None: it is told that.
    """

    title: str
    family: str
    settings: Mapping[str, Any]
    embeds: bool = False
    views: bool = False
    watched: bool = False
    clusters: int | str | None = None


def _paper(title: str, **settings: Any) -> Method:
    return Method(title, "rstc-paper", settings, views=True, watched=True)


METHODS = {
    "bow": Method("BOW", "bow", {}),
    "tfidf": Method("TF-IDF", "tfidf", {}),
    "gsdmm": Method("GSDMM, number of clusters unknown", "gsdmm", {}, clusters=300),
    "stc2-lpi": Method("STC²-LPI", "stc2", {}),
    "self-train": Method("Self-Train", "self-train", {}),
    "kmeans-ic": Method("K-means_IC", "kmeans-ic", {}),
    "sccl": Method("SCCL", "sccl", {}, views=True, watched=True),
    "sbert": Method("SBERT (k-means)", "sbert", {}, embeds=True),
    "rstc-ot": _paper("RSTC-OT", labels="ot-random"),
    "rstc-c": _paper("RSTC-C", lambda_i=0.0),
    "rstc-i": _paper("RSTC-I", class_contrast=False),
    "rstc-paper": _paper("RSTC (M1)"),
    "rstc-m2": _paper("RSTC, M2 for b", labels="ot-average"),
    "rstc-m3": _paper("RSTC, M3 for b", labels="ot-near"),
    "sela": _paper("RSTC, uniform b (SeLa)", labels="ot-uniform"),
    "rstc": Method("rstc, default", "rstc", {}, watched=True),
    "rstc-auto": Method("rstc, number of clusters unknown", "rstc", {}, watched=True, clusters="auto"),
    "rstc-given": Method("rstc, given the set's views", "rstc", {}, views=True, watched=True),
}

SCHEDULED = ("rstc-paper", "sccl")  # families that have a schedule
NOT_TO_CHANGE = {"n_clusters", "random_state", "cache_folder"}  # a set, a seed and a machine say these

# What the paper's authors set from set to set: eps2, renewals in 4,000 steps, steps of L_I alone. They stop at 3,000.
_BY_SET: dict[str, tuple[float, int, int]] = {
    "agnews": (0.1, 110, 600),
    "searchsnippets": (0.01, 74, 600),
    "stackoverflow": (0.1, 50, 0),
    "biomedical": (0.1, 50, 0),
    "googlenews-ts": (0.001, 82, 600),
    "googlenews-t": (0.001, 82, 600),
    "googlenews-s": (0.001, 82, 600),
    "tweet": (0.001, 110, 0),
    "sample": (0.01, 74, 600),  # ours, as the paper has the set of about its imbalance
}
_RENEWALS_REACHED = (3000 / 4000) ** 0.5  # renewal i of R is at step 4,000 (i / (R - 1))^2

# 3,000 steps of all layers take an hour or more on a CPU. There, one layer learns in a thirtieth of the steps at thirty
# times the rate of the encoder, which lets it move as far; labels are renewed a sixth as often. Chosen for its cost,
# not by scores.
SQUEEZED = 30
FEWER_RENEWALS = 6
SCHEDULES = ("cpu", "paper")


def paper_settings(dataset: Dataset, schedule: str) -> dict[str, Any]:
    """Return what `rstc-paper` and its variants set for a set: what the authors set there, on either schedule.

    In one thing both depart from the preset `paper`. The transport is solved here, where the authors' alternation ends
    unfinished, and a solved transport follows a clustering network that knows nothing into collapse; so that network
    learns the first labels alone, first (`head_start`).
    """
    eps2, renewals, contrast_steps = _BY_SET[dataset.source]
    settings = {"eps2": eps2, "head_start": 0.9, "renewals": round(renewals * _RENEWALS_REACHED)}
    if schedule == "paper":
        return settings | {"contrast_steps": contrast_steps}
    return settings | {
        "trainable_layers": 1,
        "max_steps": 3000 // SQUEEZED,
        "contrast_steps": contrast_steps // SQUEEZED,
        "first_renewal": 40 // SQUEEZED,
        "encoder_lr": 5e-6 * SQUEEZED,
        "renewals": round(settings["renewals"] / FEWER_RENEWALS) + 1,
        "stop_interval": 15,
    }


def _sccl_settings(schedule: str) -> dict[str, Any]:
    """Return what SCCL sets on a schedule: its own, or one as squeezed as that of `rstc-paper`, in batches as large."""
    if schedule == "paper":
        return {"trainable_layers": "all", "max_steps": 3000}
    return {
        "trainable_layers": 1,
        "max_steps": 3000 // SQUEEZED,
        "encoder_lr": 1e-5 * SQUEEZED,
        "batch_size": 200,
        "watch_interval": 10,
    }


def method(name: str) -> Method:
    """Return a method by its name."""
    if name not in METHODS:
        raise InputError(f"there is no method {name!r}; the methods are {', '.join(METHODS)}")
    return METHODS[name]


def make_estimator(name: str, dataset: Dataset, n_clusters: int, seed: int, changes: Mapping[str, Any]) -> Any:
    """Return an estimator of a method for a set, with some of its settings changed.

    Besides the estimator's own settings there is `schedule`: "cpu", or "paper" for all layers and all steps.
    """
    asked, changes = method(name), dict(changes)
    schedule = changes.pop("schedule", "cpu")
    if schedule not in SCHEDULES:
        raise InputError(f"schedule={schedule!r} is not one of {', '.join(SCHEDULES)}")
    made: Any = _estimator(asked.family, dataset, schedule)(asked.clusters or n_clusters, random_state=seed)
    settings = {**asked.settings, **changes}
    if unknown := set(settings) - (set(made.get_params()) - NOT_TO_CHANGE):
        raise InputError(f"{name} has no setting {min(unknown)!r}")
    return made.set_params(**settings)


def _estimator(family: str, dataset: Dataset, schedule: str) -> Callable[..., Any]:
    """Return what makes the estimators of a family, with what the family sets for a set."""
    if family == "rstc":
        return RSTC
    if family == "rstc-paper":
        return partial(RSTC, preset="paper", **paper_settings(dataset, schedule))
    if family == "sccl":
        return partial(_baselines()[family], **_sccl_settings(schedule))
    return _baselines()[family]


def without_own(name: str, dataset: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes that change something: a sweep passes through the method's own setting, which is no change.

    Nor is another schedule, for a method that has none.

    >>> without_own("rstc-paper", "tweet", {"eps2": 0.001, "eps1": 0.2})
    {'eps1': 0.2}
    """
    one = dataset_named(dataset)
    if method(name).family not in SCHEDULED:
        changes = {key: value for key, value in changes.items() if key != "schedule"}
    settings_of(make_estimator(name, one, 2, 0, changes))  # a change that cannot be is told before anything runs
    own = settings_of(make_estimator(name, one, 2, 0, {})) | {"schedule": "cpu"}
    return {key: value for key, value in changes.items() if key not in own or own[key] != value}


def settings_of(estimator: Any) -> dict[str, Any]:
    """Return all settings of an estimator but for what a run asks of every method and what is the machine's own."""
    settings = estimator.config().to_dict() if isinstance(estimator, RSTC) else estimator.get_params()
    return {name: value for name, value in settings.items() if name not in NOT_TO_CHANGE}


def _baselines() -> dict[str, Callable[..., Any]]:
    from rstc.baselines.bow import BOW
    from rstc.baselines.gsdmm import GSDMM
    from rstc.baselines.kmeans_ic import KMeansIC
    from rstc.baselines.sbert import SBERT
    from rstc.baselines.sccl import SCCL
    from rstc.baselines.self_train import SelfTrain
    from rstc.baselines.stc2 import STC2
    from rstc.baselines.tfidf import TFIDF

    return {
        "bow": BOW,
        "gsdmm": GSDMM,
        "tfidf": TFIDF,
        "stc2": STC2,
        "self-train": SelfTrain,
        "kmeans-ic": KMeansIC,
        "sccl": SCCL,
        "sbert": SBERT,
    }
