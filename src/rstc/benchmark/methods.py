"""The methods of the benchmark: the rows of the paper's Table 1, the estimators of its appendix, and our default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from rstc.benchmark.datasets import Dataset
from rstc.benchmark.datasets import dataset as dataset_named
from rstc.errors import InputError
from rstc.estimator import RSTC
from rstc.representation.encoder_choice import BUNDLED_NAME


@dataclass(frozen=True)
class Method:
    """A method of the benchmark.

    Attributes
    ----------
    title : str
        Its name in tables and figures.
    family : str
        Key of the estimator class that it uses.
    settings : mapping
        Parameters of the estimator that it sets.
    embeddings, views, watch : bool
        Whether its `fit` takes precomputed embeddings, the two views of each text, and a callback that receives the
        clusters during training.
    n_clusters : int, str or None
        Value of `n_clusters` instead of the number of classes.
    """

    title: str
    family: str
    settings: Mapping[str, Any]
    embeddings: bool = False
    views: bool = False
    watch: bool = False
    n_clusters: int | str | None = None


def _paper_method(title: str, **settings: Any) -> Method:
    return Method(title, "rstc-paper", settings, views=True, watch=True)


_OURS = {"repeats": 0}  # the confidence, which the repeats estimate, is not scored here; clusters do not depend on it

METHODS = {
    "bow": Method("BOW", "bow", {}),
    "tfidf": Method("TF-IDF", "tfidf", {}),
    "gsdmm": Method("GSDMM, number of clusters unknown", "gsdmm", {}, n_clusters=300),
    "stc2-lpi": Method("STC²-LPI", "stc2", {}),
    "self-train": Method("Self-Train", "self-train", {}),
    "kmeans-ic": Method("K-means_IC", "kmeans-ic", {}),
    "sccl": Method("SCCL", "sccl", {}, views=True, watch=True),
    "sbert": Method("SBERT (k-means)", "sbert", {}, embeddings=True),
    "rstc-ot": _paper_method("RSTC-OT", labels="ot-random"),
    "rstc-c": _paper_method("RSTC-C", lambda_i=0.0),
    "rstc-i": _paper_method("RSTC-I", class_contrast=False),
    "rstc-paper": _paper_method("RSTC (M1)"),
    "rstc-m2": _paper_method("RSTC, M2 for b", labels="ot-average"),
    "rstc-m2-released": _paper_method("RSTC, M2 as released", labels="ot-average-released"),
    "rstc-m3": _paper_method("RSTC, M3 for b", labels="ot-near"),
    "sela": _paper_method("RSTC, uniform b (SeLa)", labels="ot-uniform"),
    "rstc": Method("rstc, default", "rstc", _OURS, watch=True),
    "rstc-auto": Method("rstc, number of clusters unknown", "rstc", _OURS, watch=True, n_clusters="auto"),
    "rstc-given": Method(
        "rstc, trained on the set's views", "rstc", _OURS | {"training": "always"}, views=True, watch=True
    ),
}

SCHEDULES = ("cpu", "paper")
SCHEDULED_FAMILIES = ("rstc-paper", "sccl")  # families whose training depends on the schedule
RESERVED_PARAMETERS = {"n_clusters", "random_state", "cache_folder"}  # set by the data set, the seed and the machine


class _PaperSettings(NamedTuple):
    """The authors' settings for a data set: eps2, label updates in 4,000 steps, and first steps with L_I alone."""

    eps2: float
    label_updates: int
    contrast_steps: int


_PAPER_SETTINGS = {
    "agnews": _PaperSettings(0.1, 110, 600),
    "searchsnippets": _PaperSettings(0.01, 74, 600),
    "stackoverflow": _PaperSettings(0.1, 50, 0),
    "biomedical": _PaperSettings(0.1, 50, 0),
    "googlenews-ts": _PaperSettings(0.001, 82, 600),
    "googlenews-t": _PaperSettings(0.001, 82, 600),
    "googlenews-s": _PaperSettings(0.001, 82, 600),
    "tweet": _PaperSettings(0.001, 110, 0),
    "sample": _PaperSettings(0.01, 74, 600),  # ours, as the paper has for a similar imbalance
}
PAPER_STEPS = 3000  # the authors stop here
# Label update i of R is at step 4,000 (i / (R - 1))^2, so this share of them happens before the stop.
_SHARE_OF_LABEL_UPDATES = (PAPER_STEPS / 4000) ** 0.5

# 3,000 steps of all layers take an hour or more on a CPU. The CPU schedule trains one layer, with a thirtieth of the
# steps and thirty times the encoder's learning rate, so that the encoder can move as far, and a sixth of the label
# updates. These factors were chosen by their cost, not by scores.
STEP_REDUCTION = 30
LABEL_UPDATE_REDUCTION = 6


def paper_settings(dataset: Dataset, schedule: str) -> dict[str, Any]:
    """Return the settings of `rstc-paper` and its variants for a data set: the authors' values, on a schedule.

    The schedule "paper" differs from the preset `paper` in no other setting.

    Parameters
    ----------
    dataset : Dataset
        The data set.
    schedule : {"cpu", "paper"}
        The schedule.

    Returns
    -------
    dict
        Parameters of `RSTC`.
    """
    eps2, label_updates, contrast_steps = _PAPER_SETTINGS[dataset.source]
    renewals = round(label_updates * _SHARE_OF_LABEL_UPDATES)
    settings = {"eps2": eps2}
    if schedule == "paper":
        return settings | {"renewals": renewals, "contrast_steps": contrast_steps}
    return settings | {
        "renewals": round(renewals / LABEL_UPDATE_REDUCTION) + 1,
        "trainable_layers": 1,
        "max_steps": PAPER_STEPS // STEP_REDUCTION,
        "contrast_steps": contrast_steps // STEP_REDUCTION,
        "first_renewal": 40 // STEP_REDUCTION,
        "encoder_lr": 5e-6 * STEP_REDUCTION,
        "stop_interval": 15,
    }


def _sccl_settings(schedule: str) -> dict[str, Any]:
    """Return the settings of SCCL: its own, or the CPU schedule of `rstc-paper` with the same batch size."""
    if schedule == "paper":
        return {"trainable_layers": "all", "max_steps": PAPER_STEPS}
    return {
        "trainable_layers": 1,
        "max_steps": PAPER_STEPS // STEP_REDUCTION,
        "encoder_lr": 1e-5 * STEP_REDUCTION,
        "batch_size": 200,
        "watch_interval": 10,
    }


def method(name: str) -> Method:
    """Look up a method by name."""
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}; the methods are {', '.join(METHODS)}")
    return METHODS[name]


def make_estimator(name: str, dataset: Dataset, n_clusters: int, seed: int, changes: Mapping[str, Any]) -> Any:
    """Make the estimator of a method for a data set.

    Parameters
    ----------
    name : str
        Name of the method.
    dataset : Dataset
        The data set.
    n_clusters : int
        Number of clusters, for methods that are told it.
    seed : int
        The seed.
    changes : mapping
        Parameters of the estimator to change, and `schedule`: "cpu", or "paper" for all layers and all steps.

    Returns
    -------
    estimator
        An estimator with scikit-learn's `fit` and `get_params`.
    """
    entry, changes = method(name), dict(changes)
    schedule = changes.pop("schedule", "cpu")
    if schedule not in SCHEDULES:
        raise InputError(f"schedule={schedule!r} is not one of {', '.join(SCHEDULES)}")
    make = _estimator_factory(entry.family, dataset, schedule)
    estimator: Any = make(entry.n_clusters or n_clusters, random_state=seed)
    settings = {**entry.settings, **changes}
    if unknown := set(settings) - (set(estimator.get_params()) - RESERVED_PARAMETERS):
        raise InputError(f"{name} has no setting {min(unknown)!r}")
    return estimator.set_params(**settings)


def _estimator_factory(family: str, dataset: Dataset, schedule: str) -> Callable[..., Any]:
    """Return the estimator class of a family, with the family's settings for a data set and a schedule."""
    if family == "rstc":
        return RSTC
    if family == "rstc-paper":
        return partial(RSTC, preset="paper", **paper_settings(dataset, schedule))
    if family == "sccl":
        return partial(_baseline_classes()[family], **_sccl_settings(schedule))
    return _baseline_classes()[family]


def effective_changes(name: str, dataset: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Drop changes to a value that the method has anyway, as in a sweep, and a schedule from methods without one.

    Examples
    --------
    >>> effective_changes("rstc-paper", "tweet", {"eps2": 0.001, "eps1": 0.2})
    {'eps1': 0.2}
    """
    entry = dataset_named(dataset)
    if method(name).family not in SCHEDULED_FAMILIES:
        changes = {key: value for key, value in changes.items() if key != "schedule"}
    get_settings(make_estimator(name, entry, 2, 0, changes))  # raises if a change is invalid, before anything runs
    own = get_settings(make_estimator(name, entry, 2, 0, {})) | {"schedule": "cpu"}
    return {key: value for key, value in changes.items() if key not in own or own[key] != value}


def get_settings(estimator: Any) -> dict[str, Any]:
    """Return all settings of an estimator but RESERVED_PARAMETERS."""
    settings = estimator.config().to_dict() if isinstance(estimator, RSTC) else estimator.get_params()
    return {name: value for name, value in settings.items() if name not in RESERVED_PARAMETERS}


def name_encoder(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in which the bundled encoder has its name, to compare them with others.

    None stands for it in runs of earlier versions, and in those that decide by the language: the sets are English.

    >>> name_encoder({"encoder": None, "eps1": 0.1})
    {'encoder': 'all-MiniLM-L6-v2', 'eps1': 0.1}
    """
    return {**settings, "encoder": settings["encoder"] or BUNDLED_NAME} if "encoder" in settings else {**settings}


def _baseline_classes() -> dict[str, Callable[..., Any]]:
    """Import the baselines, by family."""
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
