"""RSTC, the scikit-learn style face: texts in, clusters out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from rstc.asked import asked_clusters
from rstc.batches import label_batch
from rstc.config import Config, make_config
from rstc.errors import CollapseWarning, InputError, MissingTextWarning
from rstc.hardware import choose_device, choose_precision
from rstc.merges import Tree, group_means, groups_of, tree_above, tree_over_means
from rstc.model_folder import load_model, save_model
from rstc.progress import Listener, Progress
from rstc.pseudo_labels.count import Count, read_count
from rstc.ranks import Ranks, current_ranks
from rstc.representation.heads import merged
from rstc.representation.loading import load_encoder
from rstc.representation.network import Network
from rstc.representation.views import AskedView, Views, drawn_views, given_views
from rstc.strangers import Floats, Strangers, know_strangers
from rstc.texts import as_texts, clean
from rstc.training import Watch, train

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

NO_CLUSTER = -1
ROWS_A_PIECE = 16_384  # enough of each length to fill batches without padding
COLLAPSED = 0.8  # below this share of the asked clusters, a run warns


class RSTC(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Robust short text clustering.

    Args:
        n_clusters: how many clusters to find, [C] in the paper; "auto": as many as the texts suggest; (10, 60) or
            "10-60": as many as they suggest in between.
        preset: where settings that are left at None come from: "default" or "paper".
        random_state: a seed, or a numpy generator; None draws a new seed each time.
        encoder: a Sentence-Transformers model, as a folder, a hub name or an object; None: the embedded MiniLM.
        imbalance: for preset "paper": "balanced", "light" or "heavy", which sets eps2 and what goes with it.
        views: how the two views of a text are made: a recipe such as "deletion@0.1" (docs/views.md), a function of
            texts or of (texts, generator) that returns changed texts, or two of these, one for each view.
        others: the settings of `rstc.Config`, each with its meaning there; None: what the preset says.

    Attributes:
        labels_: the cluster of each fitted text, (N,); cluster 0 is the largest; -1 where there is no text, and with
            `noise` where it belongs nowhere.
        n_clusters_: how many clusters there are.
        count_: how their number was found, with what spoke for others; None where it was given.
        probabilities_: the probability of each cluster, (N, C); zeros where there is no text.
        class_distribution_: b, the estimated share of each cluster, (C,).
        strangers_: what tells texts that belong nowhere; None without `noise`.
        hierarchy_: the tree over the clusters, (C - 1, 4), as scipy draws it (`scipy.cluster.hierarchy.dendrogram`).
        history_: what was seen at each renewal of the pseudo-labels.
        losses_: the class-wise and the instance-wise loss of each step.
        embedding_: the learned embedding of each fitted text, (N, D); zeros where there is no text.
        n_iter_: training steps taken.
        n_texts_: how many texts it was fitted on.
        n_trained_: how many of them trained; fewer than all where there are more than `max_texts`.
        text_column_: which column of tables the texts came from; None where they came as a list.
        settled_: whether the clusters settled before the step limit.
        config_: all settings of the run.
        seconds_: where the time went.

    >>> model = RSTC(n_clusters=20, random_state=0)
    >>> model.get_params()["n_clusters"]
    20
    """

    def __init__(
        self,
        n_clusters: int | str | tuple[int, int] = "auto",
        *,
        preset: str = "default",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
        encoder: str | Path | SentenceTransformer | None = None,
        imbalance: str | None = None,
        pooling: str | None = None,
        max_tokens: int | None = None,
        trainable_layers: int | str | None = None,
        dropout: float | None = None,
        projection_dim: int | None = None,
        views: AskedView | tuple[AskedView, AskedView] | None = None,
        start: str | None = None,
        words: float | None = None,
        neighbours: int | None = None,
        swaps: bool | None = None,
        kmeans_starts: int | None = None,
        unit_length: bool | None = None,
        rounds: int | None = None,
        contrast_steps: int | None = None,
        head_start: float | None = None,
        labels: str | None = None,
        eps1: float | None = None,
        eps2: float | str | None = None,
        transport_method: str | None = None,
        renewals: int | None = None,
        first_renewal: int | None = None,
        noise: float | None = None,
        class_contrast: bool | None = None,
        lambda_i: float | None = None,
        tau: float | None = None,
        batch_size: int | None = None,
        encoder_lr: float | None = None,
        head_lr: float | None = None,
        max_steps: int | None = None,
        max_epochs: int | None = None,
        delta: float | None = None,
        stop_interval: int | None = None,
        max_texts: int | None = None,
        device: str | None = None,
        precision: str | None = None,
        cache_mb: int | None = None,
        cache_folder: str | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.preset = preset
        self.random_state = random_state
        self.encoder = encoder
        self.imbalance = imbalance
        self.pooling = pooling
        self.max_tokens = max_tokens
        self.trainable_layers = trainable_layers
        self.dropout = dropout
        self.projection_dim = projection_dim
        self.views = views
        self.start = start
        self.words = words
        self.neighbours = neighbours
        self.swaps = swaps
        self.kmeans_starts = kmeans_starts
        self.unit_length = unit_length
        self.rounds = rounds
        self.contrast_steps = contrast_steps
        self.head_start = head_start
        self.labels = labels
        self.eps1 = eps1
        self.eps2 = eps2
        self.transport_method = transport_method
        self.renewals = renewals
        self.first_renewal = first_renewal
        self.noise = noise
        self.class_contrast = class_contrast
        self.lambda_i = lambda_i
        self.tau = tau
        self.batch_size = batch_size
        self.encoder_lr = encoder_lr
        self.head_lr = head_lr
        self.max_steps = max_steps
        self.max_epochs = max_epochs
        self.delta = delta
        self.stop_interval = stop_interval
        self.max_texts = max_texts
        self.device = device
        self.precision = precision
        self.cache_mb = cache_mb
        self.cache_folder = cache_folder

    def fit(
        self,
        X: Sequence[str | None],
        y: object = None,
        *,
        views: tuple[Sequence[Any], Sequence[Any]] | None = None,
        progress: Listener | None = None,
        watch: Watch | None = None,
    ) -> RSTC:
        """Cluster texts.

        Of several processes that share a run (docs/scale.md), each gives its own texts and gets their labels; the model
        is the same in all.

        Args:
            X: the texts; missing or empty ones are left out and counted in a warning.
            y: ignored; true labels have no place in clustering.
            views: ready-made pairs, two changed versions of each text; by default `RSTC(views=...)` makes them.
            progress: called with (stage, done, total) as the work goes on.
            watch: called with (step, rows, clusters) at each renewal: which texts train, and where they are then.
        """
        config = self.config() if views is None else replace(self.config(), views=None)  # none of ours
        given = as_texts(X)
        present = [i for i, text in enumerate(given) if text is not None]
        texts = [text for text in given if text is not None]
        ranks = current_ranks()
        asked = asked_clusters(self.n_clusters, int(ranks.total(len(set(texts)))))
        if config.noise and not ranks.alone:
            raise InputError("noise looks at all texts together, which several processes do not have; leave it out")
        if len(texts) < len(given):
            warnings.warn(MissingTextWarning(len(given) - len(texts), len(given)), stacklevel=2)
        pairs = self._pairs(texts, present, len(given), views, config)

        timing = Progress(progress)
        with timing.stage("load"):
            device = choose_device(config.device)
            precision = choose_precision(config.precision, device)
            encoder = load_encoder(self.encoder, config.pooling, config.max_tokens, device, precision)
        result = train(
            texts, pairs, encoder, asked, config, self._draws(ranks), timing, _of_given(watch, present), ranks
        )

        n_clusters, labels = len(result.b), result.prediction.clusters.numpy()
        sizes = ranks.sum(result.prediction.clusters.bincount(minlength=n_clusters)).numpy()
        found = int((sizes > 0).sum())
        if found < COLLAPSED * n_clusters:
            warnings.warn(CollapseWarning(found, n_clusters), stacklevel=2)
        P, E = result.prediction.log_p.exp().numpy(), result.prediction.E.numpy()
        self._install(result.network, config)
        self.strangers_: Strangers | None = None
        if config.noise:
            with timing.stage("noise"):
                self.strangers_ = know_strangers(E, labels, texts, config.noise)
        self.hierarchy_: Tree = _tree(normalize(E), labels, sizes, ranks)
        self.labels_ = _spread(self._of_those_at_home(labels, E, texts), present, len(given), NO_CLUSTER)
        self.probabilities_ = _spread(P, present, len(given), 0)
        self.embedding_ = _spread(E, present, len(given), 0)
        self.class_distribution_ = result.b
        self.count_: Count | None = result.count
        self.history_ = result.history
        self.losses_ = result.losses
        self.n_iter_ = result.steps
        self.n_texts_ = int(ranks.total(len(texts)))
        self.n_trained_ = result.n_trained
        self.settled_ = result.settled
        self.text_column_: str | None = None
        self.seconds_ = timing.seconds
        return self

    def predict(self, X: Sequence[str | None]) -> NDArray[np.int64]:
        """Return the cluster of each text, (N,); -1 where there is no text, and with `noise` where it is strange."""
        return self._in_pieces(X, lambda found: found.clusters)

    def predict_proba(self, X: Sequence[str | None]) -> NDArray[np.float32]:
        """Return the probability of each cluster, (N, C); zeros where there is no text."""
        return self._in_pieces(X, lambda found: found.probabilities)

    def transform(self, X: Sequence[str | None]) -> NDArray[np.float32]:
        """Return the learned embedding of each text, (N, D); zeros where there is no text."""
        return self._in_pieces(X, lambda found: found.embeddings)

    def _in_pieces(self, X: Sequence[str | None], wanted: Callable[[Assignment], NDArray[Any]]) -> NDArray[Any]:
        """Assign texts a piece at a time, so that only what is wanted is held for all of them."""
        check_is_fitted(self, "network_")
        texts = as_texts(X)
        starts = range(0, max(len(texts), 1), ROWS_A_PIECE)
        return np.concatenate([wanted(self.assign(texts[start : start + ROWS_A_PIECE])) for start in starts])

    def assign(self, X: Sequence[str | None]) -> Assignment:
        """Return clusters, probabilities and embeddings of texts in one pass over them."""
        check_is_fitted(self, "network_")
        given = as_texts(X)
        present = [i for i, text in enumerate(given) if text is not None]
        texts = [text for text in given if text is not None]
        tokens = self.network_.encoder.tokenize(texts)
        if tokens:
            prediction = self.network_.settle(tokens, self.network_.predict(tokens))
            clusters, P, E = prediction.clusters.numpy(), prediction.log_p.exp().numpy(), prediction.E.numpy()
            clusters = self._of_those_at_home(clusters, E, texts)
        else:
            clusters = np.zeros(0, dtype=np.int64)
            P, E = (np.zeros((0, size), dtype=np.float32) for size in (self.n_clusters_, self.network_.encoder.dim))
        return Assignment(
            _spread(clusters, present, len(given), NO_CLUSTER),
            _spread(P, present, len(given), 0),
            _spread(E, present, len(given), 0),
        )

    def predict_batch(self, batch: Any, text_column: str | None = None) -> Any:
        """Return a batch of rows with the columns `cluster` and `confidence`, as data engines want it.

        `dataset.map_batches(model.predict_batch)` (Ray), `frame.mapInArrow(model.predict_batch, schema)` (Spark) and
        `frame.map_partitions(model.predict_batch)` (Dask) take it as it is.

        Args:
            batch: a pyarrow table or record batch, a pandas table, a dictionary of columns, or an iterator over these;
                what comes back is of the same kind.
            text_column: that holds the texts; by default the one that the model was trained on, or the only one.
        """
        check_is_fitted(self, "network_")

        def assign(texts: list[str | None]) -> tuple[Any, Any]:
            found = self.assign(texts)
            return found.clusters, found.confidence

        return label_batch(batch, text_column or self.text_column_, assign)

    def _of_those_at_home(self, clusters: NDArray[np.int64], E: Floats, texts: list[str]) -> NDArray[np.int64]:
        """Return clusters (N,), none where a text belongs nowhere."""
        if self.strangers_ is None:
            return clusters
        return np.where(self.strangers_.among(E, texts), NO_CLUSTER, clusters)

    def merge_to(self, n_clusters: int) -> RSTC:
        """Return a coarser model without training again: the most similar clusters merged until so many are left.

        Each cluster goes one way with all its texts. This model stays as it is.
        """
        check_is_fitted(self, "hierarchy_")
        if isinstance(n_clusters, bool) or not isinstance(n_clusters, (int, np.integer)):
            raise InputError(f"n_clusters={n_clusters!r} must be a whole number")
        if not 1 <= n_clusters <= self.n_clusters_:
            raise InputError(f"n_clusters={n_clusters} is not among 1 to {self.n_clusters_}, as many as there are")
        groups = groups_of(self.hierarchy_, int(n_clusters))
        sizes = np.bincount(groups, weights=self._sizes())
        groups = np.argsort(np.argsort(-sizes, kind="stable"))[groups].astype(np.int64)  # the largest is 0
        network, k = self.network_, int(n_clusters)
        coarse = copy(self)
        coarse.n_clusters = k
        head = merged(network.cluster_head, torch.from_numpy(groups).to(network.encoder.device), k)
        coarse._install(Network(network.encoder, head, network.projector).eval(), self.config_)
        coarse.hierarchy_ = tree_above(self.hierarchy_, groups)
        coarse.class_distribution_ = self.class_distribution_ @ np.eye(k)[groups]
        if hasattr(self, "probabilities_"):
            P = np.stack([self.probabilities_[:, groups == group].max(1) for group in range(k)], axis=1)
            coarse.probabilities_ = P / np.maximum(P.sum(1, keepdims=True), 1e-30)
            coarse.labels_ = np.where(self.labels_ == NO_CLUSTER, NO_CLUSTER, groups[self.labels_])
        return coarse

    def _sizes(self) -> NDArray[np.float64]:
        """Return how many texts each cluster has, or its share where the texts are not at hand."""
        if not hasattr(self, "labels_"):
            return self.class_distribution_
        return np.bincount(self.labels_[self.labels_ != NO_CLUSTER], minlength=self.n_clusters_).astype(np.float64)

    def save(self, folder: str | Path) -> None:
        """Write the trained model to a folder that `RSTC.load` reads; see `rstc.model_folder` for what is in it."""
        check_is_fitted(self, "network_")
        facts = {
            "class_distribution": self.class_distribution_.tolist(),
            "history": self.history_,
            "n_iter": self.n_iter_,
            "settled": self.settled_,
            "preset": self.preset,
            "random_state": int(self.random_state) if isinstance(self.random_state, (int, np.integer)) else None,
            "hierarchy": self.hierarchy_.tolist(),
            "n_texts": self.n_texts_,
            "count": asdict(self.count_) if self.count_ else None,
            "n_trained": self.n_trained_,
            "text_column": self.text_column_,
        }
        config = replace(self.config_, cache_folder=None)  # a place on this machine means nothing on another
        save_model(Path(folder), self.network_, config, facts, self.strangers_)

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> RSTC:
        """Read a model that `save` wrote, to predict on the named device; it predicts as before.

        Another kind of processor rounds differently, and so may decide a close call differently. The fitted texts and
        their labels are not in the folder, nor is a function that made the views.
        """
        saved = load_model(Path(folder), device)
        facts = saved.facts
        settings = {name: value for name, value in saved.config.to_dict().items() if name != "encoder"}
        model = cls(
            n_clusters=len(facts["class_distribution"]),
            preset=facts["preset"],
            random_state=facts["random_state"],
            encoder=str(Path(folder) / "encoder"),
            **settings,
        )
        model._install(saved.network, saved.config)
        model.strangers_ = saved.strangers
        model.class_distribution_ = np.asarray(facts["class_distribution"])
        if facts.get("hierarchy") is not None:
            model.hierarchy_ = np.asarray(facts["hierarchy"], dtype=np.float64).reshape(-1, 4)
        model.history_ = facts["history"]
        model.n_iter_ = facts["n_iter"]
        model.n_texts_ = facts["n_texts"]
        model.n_trained_ = facts.get("n_trained", facts["n_texts"])
        model.settled_ = facts["settled"]
        model.text_column_ = facts.get("text_column")
        model.count_ = read_count(facts.get("count"))
        return model

    def config(self) -> Config:
        """Return the preset with the settings that this estimator was given."""
        given = {field.name: getattr(self, field.name) for field in fields(Config) if field.name != "encoder"}
        settings = {name: value for name, value in given.items() if value is not None}
        recipes = [view for view in self.views if isinstance(view, str)] if isinstance(self.views, tuple) else []
        if len(recipes) == 2:
            settings["views"] = ",".join(recipes)
        elif not isinstance(self.views, str):
            settings.pop("views", None)
        if self.imbalance is not None:
            settings["imbalance"] = self.imbalance
        config = make_config(self.preset, settings)
        if self.views is not None and "views" not in settings:
            config = replace(config, views=None)  # a function has no name by which it could be found again
        if self.encoder is not None:
            named = isinstance(self.encoder, (str, Path))
            config = replace(config, encoder=str(self.encoder) if named else type(self.encoder).__name__)
        return config

    def _draws(self, ranks: Ranks) -> np.random.Generator:
        """Return the generator of a fit, the same in all processes."""
        rng = _generator(self.random_state)
        ranks.same_draws(rng)
        return rng

    def _pairs(
        self,
        texts: list[str],
        present: list[int],
        total: int,
        given: tuple[Sequence[Any], Sequence[Any]] | None,
        config: Config,
    ) -> Views:
        """Return the given pairs of the texts that are there, or views to be made."""
        if given is None:
            asked = self.views if config.views is None else config.views
            assert asked is not None
            return drawn_views(texts, asked)
        if len(given) != 2:
            raise InputError(f"views must be a pair, got {len(given)}")
        first, second = (_of_present(list(view), present, total, number) for number, view in enumerate(given, start=1))
        return given_views(texts, first, second)

    def _install(self, network: Network, config: Config) -> None:
        self.network_: Network = network
        self.n_clusters_: int = network.cluster_head.n_clusters
        self.config_: Config = config
        self._n_features_out = network.encoder.dim

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


@dataclass(frozen=True)
class Assignment:
    """Where texts belong.

    Attributes:
        clusters: the cluster of each text, (N,); -1 where there is no text, or one that belongs nowhere.
        probabilities: of each cluster, (N, C); zeros where there is no text.
        embeddings: in the learned space, (N, D); zeros where there is no text.
    """

    clusters: NDArray[np.int64]
    probabilities: NDArray[np.float32]
    embeddings: NDArray[np.float32]

    @property
    def confidence(self) -> NDArray[np.float32]:
        """The probability of each text's own cluster, (N,)."""
        return np.asarray(self.probabilities.max(axis=1, initial=0))


def _tree(points: Floats, labels: NDArray[np.int64], sizes: NDArray[np.int64], ranks: Ranks) -> Tree:
    """Return the tree over the clusters, of the points (n, D) of all processes and all clusters' sizes (C,)."""
    means = group_means(points, labels, len(sizes))
    if not ranks.alone:
        own = np.bincount(labels, minlength=len(sizes))[:, None]
        means = ranks.sum(torch.from_numpy(means * own)).numpy() / np.maximum(sizes, 1)[:, None]
    return tree_over_means(means.astype(np.float32), sizes.astype(np.float64))


def _of_present(view: list[Any], present: list[int], total: int, number: int) -> list[str | None]:
    """Return a given view of the texts that are there."""
    if len(view) != total:
        raise InputError(f"view {number} has {len(view)} texts, but there are {total} texts")
    return [clean(view[i]) for i in present]


def _spread(values: NDArray[Any], present: list[int], total: int, missing: int) -> NDArray[Any]:
    """Put the rows of the texts that are there among those that are missing."""
    if len(present) == total:
        return values
    out = np.full((total, *values.shape[1:]), missing, dtype=values.dtype)
    out[present] = values
    return out


def _of_given(watch: Watch | None, present: list[int]) -> Watch | None:
    """Return a watcher that is shown rows among the texts that are there, and shows those among all that were given."""
    if watch is None:
        return None
    places = np.asarray(present)
    return lambda step, rows, clusters: watch(step, places[rows], clusters)


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)
