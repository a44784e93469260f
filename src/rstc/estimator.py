"""RSTC, the scikit-learn style face: texts in, clusters out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from rstc.validation.n_clusters import Within, asked_clusters
from rstc.io.predictions import NO_CLUSTER, Assignment
from rstc.io.batches import label_batch
from rstc.training.checkpoint_file import Checkpoints
from rstc.config import Config
from rstc.training.drift import Drift, drift
from rstc.errors import CollapseWarning, InputError, MissingTextWarning
from rstc.runtime.device import choose_device, choose_precision
from rstc.training.history import Watch
from rstc.validation.labels import asked_with_known, read_knowledge, with_equals
from rstc.runtime.memory import Sizes, check_fits
from rstc.numerics.hierarchy import Tree, group_means, groups_of, tree_above, tree_over_means
from rstc.persistence.model_folder import SavedModel, find_folder, load_model, save_model
from rstc.validation.texts import Present
from rstc.runtime.progress import Listener, Progress
from rstc.pseudo_labels.n_clusters import Count, read_count
from rstc.runtime.distributed import ALONE, Ranks, current_ranks
from rstc.representation.encoder import Encoder
from rstc.representation.heads import merged
from rstc.representation.loading import load_encoder
from rstc.representation.network import Network
from rstc.representation.views import Views, drawn_views, given_views
from rstc.params import Settings
from rstc.pseudo_labels.outliers import Floats, Strangers, know_strangers
from rstc.telling import TellsAsTables
from rstc.io.columns import as_texts
from rstc.training.trainer import Begin, TrainResult, train

ROWS_A_PIECE = 16_384  # enough of each length to fill batches without padding
GUESSED_CLUSTERS = 100  # for the estimate of memory
COLLAPSED = 0.8  # below this share of the asked clusters, a run warns


class RSTC(TellsAsTables, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Settings):
    """Robust short text clustering.

    Every setting of `rstc.Config` is a parameter too, with its meaning there; None: what the preset says.

    Args:
        n_clusters: how many clusters to find, [C] in the paper; "auto": as many as the texts suggest; (10, 60) or
            "10-60": as many as they suggest in between.
        preset: where settings that are left at None come from: "default" or "paper".
        random_state: a seed, or a numpy generator; None draws a new seed each time.
        encoder: a Sentence-Transformers model, as a folder, a hub name or an object; None: the embedded MiniLM.
        imbalance: for preset "paper": "balanced", "light" or "heavy", which sets eps2 and what goes with it.
        views: how the two views of a text are made: a recipe such as "deletion@0.1" (docs/views.md), a function of
            texts or of (texts, generator) that returns changed texts, or two of these, one for each view.

    Attributes:
        labels_: the cluster of each fitted text, (N,); cluster 0 is the largest; -1 where there is no text, and with
            `noise` where it belongs nowhere.
        n_clusters_: how many clusters there are.
        classes_: the known class that each cluster is, None of those that are new; None where nothing was known.
        count_: how their number was found, with what spoke for others; None where it was given.
        probabilities_: the probability of each cluster, (N, C); zeros where there is no text.
        drift_: after `update`, how the texts that came differ from those before.
        class_distribution_: b, the estimated share of each cluster, (C,).
        strangers_: what tells texts that belong nowhere; None without `noise`.
        hierarchy_: the tree over the clusters, (C - 1, 4), as scipy draws it (`scipy.cluster.hierarchy.dendrogram`).
        history_: what was seen at each renewal of the pseudo-labels.
        losses_: the class-wise and the instance-wise loss of each step.
        cluster_info_: a table with a row a cluster: its name, size, keywords, typical and doubtful texts.
        embedding_: the learned embedding of each fitted text, (N, D); zeros where there is no text.
        n_iter_: training steps taken.
        n_texts_: how many texts it was fitted on.
        n_trained_: how many of them trained; fewer than all where there are more than `max_fit_texts`.
        text_column_: which column of tables the texts came from; None where they came as a list.
        settled_: whether the clusters settled before the step limit.
        config_: all settings of the run.
        seconds_: where the time went.

    >>> model = RSTC(n_clusters=20, random_state=0)
    >>> model.get_params()["n_clusters"]
    20
    """

    def fit(
        self,
        X: Any,
        y: object = None,
        *,
        views: tuple[Sequence[Any], Sequence[Any]] | None = None,
        progress: Listener | None = None,
        watch: Watch | None = None,
        checkpoints: str | Path | Checkpoints | None = None,
    ) -> RSTC:
        """Cluster texts.

        Of several processes that share a run (docs/scale.md), each gives its own texts and gets their labels; the model
        is the same in all.

        Args:
            X: the texts: a list, an array, or a column or a table of pandas, polars, pyarrow or Hugging Face datasets,
                of which the column that holds texts is taken. Missing or empty ones are left out and counted.
            y: what is known of some texts: a class each, and -1, None or "" of the others. Each class is then a cluster
                (`classes_`), its texts and those equal to them are in it, and the other clusters are still found.
            views: ready-made pairs, two changed versions of each text; by default `RSTC(views=...)` makes them.
            progress: called with (stage, done, total) as the work goes on.
            watch: called with (step, rows, clusters) at each renewal: which texts train, and where they are then.
            checkpoints: a folder to keep where the run is, at each renewal and when it is stopped; the same call goes
                on from there. What is left of another run there is replaced. It is yours to remove.
        """
        if checkpoints is not None and self.random_state is None:
            raise InputError("checkpoints need a random_state: without one, the same call draws something else")
        if isinstance(checkpoints, (str, Path)):
            checkpoints = Checkpoints(Path(checkpoints), replace=True)
        config = self.config() if views is None else replace(self.config(), views=None)  # none of ours
        given = Present.read(X)
        ranks = current_ranks()
        knowledge = read_knowledge(y, given.rows, len(given.all))
        asked = asked_clusters(self.n_clusters, int(ranks.total(len(set(given.texts)))))
        if knowledge:
            asked = asked_with_known(asked, knowledge, config.class_contrast, ranks)
        if config.noise and not ranks.alone:
            raise InputError("noise looks at all texts together, which several processes do not have; leave it out")
        if len(given.texts) < len(given.all):
            warnings.warn(MissingTextWarning(len(given.all) - len(given.texts), len(given.all)), stacklevel=2)
        pairs = self._pairs(given, views, config)

        timing = Progress(progress)
        with timing.stage("load"):
            encoder = ranks.together(lambda: self._loaded_encoder(config))
        sizes = _sizes(given.texts, asked, config, encoder, ranks)
        ranks.together(lambda: check_fits(sizes, config.memory_gb))
        draws, watch = self._draws(ranks), given.among_all(watch)
        known = None if knowledge is None else with_equals(given.texts, knowledge.of_text)
        result = train(given.texts, pairs, encoder, asked, config, draws, timing, watch, ranks, checkpoints, known)
        self.classes_: list[Any] | None = None
        if knowledge:
            names = dict(enumerate(knowledge.classes))
            self.classes_ = [names.get(before) for before in result.order.tolist()]
            known = np.append(np.argsort(result.order), NO_CLUSTER)[known]
        self.count_: Count | None = result.count
        self.text_column_: str | None = given.column
        self._take(result, given, config, timing, ranks, known)
        return self

    def update(self, X: Any, *, old: Any = None, progress: Listener | None = None, watch: Watch | None = None) -> RSTC:
        """Take in more texts: training goes on with the old and the new ones, and clusters keep their numbers.

        Labels are found anew from those that the model gives; a text's cluster changes only if the texts say so.
        `drift_` tells how the new ones differ. The fitted texts are then the old ones, and after them the new ones. No
        cluster is added: where drift is large, cluster anew.

        Args:
            X: the new texts.
            old: the texts that the model was fitted on, where it was loaded and does not have them.
            progress: as in `fit`.
            watch: as in `fit`.
        """
        check_is_fitted(self, "network_")
        if old is None and not hasattr(self, "_texts"):
            raise InputError("a model that was loaded does not have its texts; give them: update(new, old=texts)")
        before = as_texts(old) if old is not None else self._texts
        more = as_texts(X)
        if not any(text is not None for text in more):
            raise InputError("there is no new text to take in")
        given, config = Present.of([*before, *more], None, self.text_column_), self.config_
        if not config.class_contrast:
            raise InputError("class_contrast=False finds its clusters at the end, by k-means: cluster anew")
        timing, ranks = Progress(progress), ALONE
        with timing.stage("predict"):
            assigned = self.assign(given.all)
            network = deepcopy(self.network_)
        is_new = np.array([row >= len(before) for row in given.rows])
        labels = assigned.probabilities[given.rows].argmax(1)
        self.drift_: Drift = drift(labels, assigned.confidence[given.rows], is_new, self.n_clusters_)
        check_fits(_sizes(given.texts, self.n_clusters_, config, network.encoder, ranks), config.memory_gb)
        asked = config.views or self.views or str(Config().views)  # given ones are of old texts
        pairs = drawn_views(given.texts, asked)
        begin, draws = Begin(network, labels.astype(np.int64)), self._draws(ranks)
        watch = given.among_all(watch)
        k, encoder = self.n_clusters_, network.encoder
        result = train(given.texts, pairs, encoder, k, config, draws, timing, watch, ranks, begin=begin)
        self._take(result, given, config, timing, ranks, None)
        after = self.probabilities_[given.rows].argmax(1)
        self.drift_ = replace(self.drift_, moved=float((after != labels)[~is_new].mean()) if not is_new.all() else 0.0)
        return self

    def _take(
        self,
        result: TrainResult,
        given: Present,
        config: Config,
        timing: Progress,
        ranks: Ranks,
        known: NDArray[np.int64] | None,
    ) -> None:
        """Become the model that training ended with; of some texts the cluster is known, -1 of the others."""
        n_clusters, labels = len(result.b), result.prediction.clusters.numpy()
        if known is not None:
            labels = np.where(known == NO_CLUSTER, labels, known)
        sizes = ranks.sum(result.prediction.clusters.bincount(minlength=n_clusters)).numpy()
        found = int((sizes > 0).sum())
        if found < COLLAPSED * n_clusters:
            warnings.warn(CollapseWarning(found, n_clusters, config.eps2, config.start), stacklevel=3)
        P, E = result.prediction.log_p.exp().numpy(), result.prediction.E.numpy()
        self._install(result.network, config)
        self.strangers_: Strangers | None = None
        if config.noise:
            with timing.stage("noise"):
                self.strangers_ = know_strangers(E, labels, given.texts, config.noise)
        self.hierarchy_: Tree = _tree(normalize(E), labels, sizes, ranks)
        at_home = self._of_those_at_home(labels, E, given.texts)
        if known is not None:
            at_home = np.where(known == NO_CLUSTER, at_home, labels)  # somebody knows where they belong
        self.labels_ = given.spread(at_home, NO_CLUSTER)
        self.probabilities_ = given.spread(P, 0)
        self.embedding_ = given.spread(E, 0)
        self.class_distribution_ = result.b
        self.history_ = result.history
        self.losses_ = result.losses
        self.n_iter_ = result.steps
        self.n_texts_ = int(ranks.total(len(given.texts)))
        self.n_trained_ = result.n_trained
        self.settled_ = result.settled
        self.seconds_ = timing.seconds
        self._texts, self._index = given.all, given.index
        self._forget_told()

    def fit_predict(self, X: Any, y: object = None, **more: Any) -> NDArray[np.int64]:
        """Cluster texts, with what is known of some (`fit`); return their clusters, (N,)."""
        return self.fit(X, y, **more).labels_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the cluster of each text, (N,); -1 where there is no text, and with `noise` where it is strange."""
        return self._in_pieces(X, lambda found: found.clusters)

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probability of each cluster, (N, C); zeros where there is no text."""
        return self._in_pieces(X, lambda found: found.probabilities)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the learned embedding of each text, (N, D); zeros where there is no text."""
        return self._in_pieces(X, lambda found: found.embeddings)

    def _in_pieces(self, X: Sequence[str | None], wanted: Callable[[Assignment], NDArray[Any]]) -> NDArray[Any]:
        """Assign texts a piece at a time, so that only what is wanted is held for all of them."""
        check_is_fitted(self, "network_")
        texts = as_texts(X)
        starts = range(0, max(len(texts), 1), ROWS_A_PIECE)
        return np.concatenate([wanted(self.assign(texts[start : start + ROWS_A_PIECE])) for start in starts])

    def assign(self, X: Any) -> Assignment:
        """Return clusters, probabilities and embeddings of texts in one pass over them."""
        check_is_fitted(self, "network_")
        given = Present.of(as_texts(X))
        tokens = self.network_.encoder.tokenize(given.texts)
        if tokens:
            prediction = self.network_.settle(tokens, self.network_.predict(tokens))
            clusters, P, E = prediction.clusters.numpy(), prediction.log_p.exp().numpy(), prediction.E.numpy()
            clusters = self._of_those_at_home(clusters, E, given.texts)
        else:
            clusters = np.zeros(0, dtype=np.int64)
            P, E = (np.zeros((0, size), dtype=np.float32) for size in (self.n_clusters_, self.network_.encoder.dim))
        return Assignment(given.spread(clusters, NO_CLUSTER), given.spread(P, 0), given.spread(E, 0))

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
        coarse.classes_ = None  # a class of several is none
        coarse._forget_told()
        return coarse

    def _sizes(self) -> NDArray[np.float64]:
        """Return how many texts each cluster has, or its share where the texts are not at hand."""
        if not hasattr(self, "labels_"):
            return self.class_distribution_
        return np.bincount(self.labels_[self.labels_ != NO_CLUSTER], minlength=self.n_clusters_).astype(np.float64)

    def save(self, folder: str | Path) -> None:
        """Write the trained model to a folder that `RSTC.load` reads; see `rstc.persistence.model_folder` for what is in it."""
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
            "classes": self.classes_,
        }
        config = replace(self.config_, cache_folder=None)  # a place on this machine means nothing on another
        save_model(Path(folder), self.network_, config, facts, self.strangers_)

    def export_onnx(self, folder: str | Path) -> None:
        """Write the model as ONNX to a folder that `rstc.OnnxModel` reads, without torch; needs the extra `onnx`.

        It gives every text a cluster: what `noise` knows of strangers is not in it.
        """
        check_is_fitted(self, "network_")
        from rstc.persistence.onnx_export import export_onnx

        told = {"class_distribution": self.class_distribution_.tolist(), "text_column": self.text_column_}
        export_onnx(self.network_.eval(), Path(folder), told)

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> RSTC:
        """Read a model that `save` wrote, to predict on the named device; it predicts as before.

        Another kind of processor rounds differently, and so may decide a close call differently. The fitted texts and
        their labels are not in the folder, nor is a function that made the views. A name on the hub, OWNER/MODEL, will
        do where there is no such folder.
        """
        folder = find_folder(folder)
        saved = load_model(folder, device)
        try:
            return cls._of_saved(saved, folder)
        except (ValueError, TypeError, KeyError) as problem:
            raise InputError(f"what the model in {folder} tells of itself does not fit together") from problem

    @classmethod
    def _of_saved(cls, saved: SavedModel, folder: Path) -> RSTC:
        facts = saved.facts
        settings = {name: value for name, value in saved.config.to_dict().items() if name != "encoder"}
        model = cls(
            n_clusters=len(facts["class_distribution"]),
            preset=facts["preset"],
            random_state=facts["random_state"],
            encoder=str(folder / "encoder"),
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
        model.classes_ = facts.get("classes")
        return model

    def _pairs(self, given: Present, views: tuple[Sequence[Any], Sequence[Any]] | None, config: Config) -> Views:
        """Return the given pairs of the texts that are there, or views to be made."""
        if views is None:
            asked = self.views if config.views is None else config.views
            assert asked is not None
            return drawn_views(given.texts, asked)
        if len(views) != 2:
            raise InputError(f"views must be a pair, got {len(views)}")
        first, second = (given.of_view(list(view), number) for number, view in enumerate(views, start=1))
        return given_views(given.texts, first, second)

    def _loaded_encoder(self, config: Config) -> Encoder:
        device = choose_device(config.device)
        precision = choose_precision(config.precision, device)
        return load_encoder(self.encoder, config.pooling, config.max_tokens, device, precision)

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


def _sizes(texts: list[str], asked: int | Within, config: Config, encoder: Encoder, ranks: Ranks) -> Sizes:
    """Return what a run's memory depends on; a number of clusters that is not known yet is guessed."""
    in_all = int(ranks.total(len(texts)))  # the first process has those of all that learn
    return Sizes(
        texts=len(texts),
        characters=sum(map(len, texts)),
        learners=min(config.max_fit_texts or in_all, in_all),
        tokens=config.max_tokens,
        n_clusters=asked if isinstance(asked, int) else asked[1] or GUESSED_CLUSTERS,
        dim=encoder.dim,
        weights=sum(weights.numel() * weights.element_size() for weights in encoder.parameters()),
        cache=config.cache_mb * 2**20,
    )


def _tree(points: Floats, labels: NDArray[np.int64], sizes: NDArray[np.int64], ranks: Ranks) -> Tree:
    """Return the tree over the clusters, of the points (n, D) of all processes and all clusters' sizes (C,)."""
    means = group_means(points, labels, len(sizes))
    if not ranks.alone:
        own = np.bincount(labels, minlength=len(sizes))[:, None]
        means = ranks.sum(torch.from_numpy(means * own)).numpy() / np.maximum(sizes, 1)[:, None]
    return tree_over_means(means.astype(np.float32), sizes.astype(np.float64))
