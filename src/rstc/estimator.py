"""RSTC, the scikit-learn style estimator: texts in, clusters out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rstc.config import Config
from rstc.errors import CollapseWarning, InputError, MissingTextWarning, UnusedSettingWarning
from rstc.io.batches import BLOCK_ROWS, predict_batch_with
from rstc.io.columns import to_text_column, to_text_list
from rstc.io.predictions import NO_CLUSTER, Assignment, confidence_of
from rstc.language.detection import list_main_languages, measure_languages
from rstc.numerics.hierarchy import Tree
from rstc.params import RSTCParams, document_settings
from rstc.persistence.fitted_model import FittedModel, refit_network
from rstc.persistence.model_description import resolve_folder
from rstc.persistence.model_files import ENCODER
from rstc.persistence.model_folder import load_model, save_model
from rstc.persistence.refit import replace_clusters
from rstc.pseudo_labels.cluster_count import FINE
from rstc.pseudo_labels.confidence_model import assess_confidence
from rstc.report.level_frames import LevelsMixin
from rstc.report.visualize import VisualizeMixin
from rstc.representation.token_limit import limit_tokens
from rstc.representation.views import Views, make_views, use_precomputed_views
from rstc.results.proposals import ACCEPTED, Proposal, find_proposals, move_rows, select_proposals
from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup, current_process_group
from rstc.runtime.memory import check_memory
from rstc.runtime.progress import Listener, Progress, Watch, open_listener
from rstc.training.checkpointing import CheckpointFolder
from rstc.training.drift import measure_drift
from rstc.training.empty_clusters import leave_out_empty, restore_numbers
from rstc.training.encoders import choose_run_encoder, load_run_encoder
from rstc.training.final_clusters import find_final_clusters
from rstc.training.inputs import TrainingInputs, WarmStart, estimate_memory
from rstc.training.level_choice import LevelChoiceMixin
from rstc.training.levels import Levels
from rstc.training.trainer import TrainResult, train
from rstc.validation.fit_input import NOT_FIXED, validate_fit_input, validate_fixed_clusters, validate_new_texts
from rstc.validation.labels import propagate_to_duplicates
from rstc.validation.texts import NonEmptyTexts

COLLAPSE_SHARE = 0.8  # a fit warns if fewer than this share of the requested clusters hold a text

Ints = NDArray[np.int64]


def _make_alias(old: str, new: str) -> property:
    """Return a property that reads attribute `new` under its old name, with a DeprecationWarning."""

    def read(self: Any) -> Any:
        value = getattr(self, new)
        warnings.warn(f"RSTC.{old} was renamed to {new}", DeprecationWarning, stacklevel=2)
        return value

    return property(read, doc=f"Deprecated: the former name of `{new}`.")


@document_settings
class RSTC(
    LevelChoiceMixin,
    LevelsMixin,
    VisualizeMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    RSTCParams,
):
    """Robust short text clustering.

    Every setting of `rstc.Config` is a keyword parameter too. A setting left at None takes the value of `preset`; the
    defaults given here are those of the preset "default". `rstc settings` and docs/settings.md list all of them.

    Parameters
    ----------
    n_clusters : int, "auto", str or tuple of two int, default="auto"
        Number of clusters, C in the paper. "auto" estimates it from the texts; a range, (10, 60) or "10-60", limits
        the estimate.
    preset : {"default", "paper"}, default="default"
        The source of settings that are left at None.
    random_state : int, numpy Generator, numpy RandomState or None, default=None
        Seed of all random draws; the same seed and texts give the same clusters. None draws a new seed in each fit.
    imbalance : {"balanced", "light", "heavy"} or None, default=None
        How uneven the clusters are, for the preset "paper" only: sets `eps2`, `renewals` and `contrast_steps`.
    encoder : str, Path, SentenceTransformer or None, default=None
        Model that embeds the texts: "multilingual" (needs the extra `multilingual`), a folder, a hub name or an object,
        which is copied. None takes the bundled "all-MiniLM-L6-v2", but "multilingual" for texts that are mostly not
        English, where it is installed. Phi in the paper.
    views : str, callable, tuple of two of them or None, default=None
        How two views of each text are made: a specification such as "deletion@0.1" (docs/views.md), or a function of
        texts or of (texts, generator) that returns augmented texts; a pair has one for each view. X^(1), X^(2) in the
        paper.

    Attributes
    ----------
    labels_ : ndarray of shape (N,)
        The cluster of each fitted text; cluster 0 is the largest. -1 for rows without a text and, with `noise`, for
        outliers.
    n_clusters_ : int
        The number of clusters, C.
    classes_ : list of length C or None
        The known class of each cluster, None for new clusters; None if `fit` was given no labels.
    probabilities_ : ndarray of shape (N, C)
        The probability of each cluster by the clustering head, which is far too sure; zeros for rows without a text.
    confidence_ : ndarray of shape (N,)
        The estimated probability that each text would be in the same cluster if the analysis were repeated on other
        texts of the same kind (docs/confidence.md); 0 for rows without a text.
    reliability_ : Reliability or None
        The repeated searches that confidence and stability follow from; None with `repeats=0`, or if there are too few
        texts for the number of clusters.
    embedding_ : ndarray of shape (N, D)
        The learned embedding of each fitted text; zeros for rows without a text.
    class_distribution_ : ndarray of shape (C,)
        b, the estimated share of each cluster.
    hierarchy_ : ndarray of shape (C - 1, 4)
        The tree over the clusters, in the format of `scipy.cluster.hierarchy.linkage`.
    cluster_names_ : list of length C
        The name of each cluster: as given to `rename_clusters`, or made of its keywords.
    cluster_info_ : DataFrame
        One row for each cluster: its name, size, keywords, typical and doubtful texts.
    levels_ : DataFrame
        The levels of detail, coarse to fine: one row for each group of a level (`labels_at` returns a level's labels).
    n_clusters_search_ : ClusterCount or None
        How the number of clusters was estimated, with the scores of other numbers; None if it was given.
    outlier_detector_ : OutlierDetector or None
        Detects outliers; None unless `noise` is set.
    drift_ : Drift
        How new texts differ from the old ones; set by `update` only.
    proposals_ : list of Proposal
        Groups of new texts that fit no cluster (`rstc.results.proposals.Proposal`), with the positions of their texts;
        set by `update` only.
    history_ : list of dict
        One entry for each update of the pseudo-labels.
    losses_ : list of tuple
        The class-wise and the instance-wise loss of each training step.
    n_iter_ : int
        Training steps taken.
    converged_ : bool
        Whether the clusters stopped changing before the step limit.
    n_texts_ : int
        The number of texts that the model was fitted on.
    n_trained_ : int
        The number of texts that the network was trained on; fewer than `n_texts_` if `max_fit_texts` limits it.
    truncated_share_ : float
        The share of the fitted texts that are longer than `max_tokens` and were truncated, by a sample of them.
    messages_ : list of Message
        What matters about the fitted texts and their clusters, each with `text`, `advice` and `level`.
    text_column_ : str, list of str or None
        The column of the input table that held the texts, or several that a file's texts were joined of; None if they
        came as a list.
    config_ : Config
        All settings of the run.
    encoder_reason_ : str or None
        Why the encoder was taken; None if it was named.
    network_ : Network
        The trained encoder and its heads.
    seconds_ : dict
        The time spent in each stage.

    Examples
    --------
    >>> model = RSTC(n_clusters=20, random_state=0)
    >>> model.get_params()["n_clusters"]
    20
    """

    proposals_: list[Proposal]

    strangers_ = _make_alias("strangers_", "outlier_detector_")
    settled_ = _make_alias("settled_", "converged_")
    count_ = _make_alias("count_", "n_clusters_search_")

    def fit(
        self,
        X: Any,
        y: object = None,
        *,
        features: Any = None,
        views: tuple[Sequence[Any], Sequence[Any]] | None = None,
        progress: Listener | bool | None = None,
        watch: Watch | None = None,
        checkpoints: str | Path | CheckpointFolder | None = None,
        cache: str | Path | None = None,
    ) -> RSTC:
        """Cluster texts.

        Of several processes that share a run (docs/scale.md), each passes its own texts and gets their labels; the
        model is the same in all of them.

        Parameters
        ----------
        X : list, array, column or table
            The texts. A column or table may be of pandas, polars, pyarrow or Hugging Face datasets; of a table, the
            column that holds texts is used. Rows without a text are left out and counted in a warning.
        y : sequence, optional
            The known class of some texts; -1, None or "" for the others. Each class becomes a cluster (`classes_`)
            that holds its texts and their duplicates; further clusters are still found.
        features : array-like of shape (N, F), optional
            Your own features of the texts, such as embeddings of another model. They are used beside the embedding when
            labels are found; `predict` does not need them.
        views : pair of sequences, optional
            Two augmented versions of each text to train on; by default they are made as `RSTC(views=...)` specifies.
        progress : bool or callable, optional
            True shows a progress bar, in notebooks and terminals; a function is called with (stage, done, total) during
            the fit. By default nothing is shown.
        watch : callable, optional
            Called with (step, rows, clusters) at each update of the pseudo-labels: which texts train, and their
            clusters at that step.
        checkpoints : str, Path or CheckpointFolder, optional
            A folder for checkpoints, written at each update of the pseudo-labels and on interruption. The same call
            resumes from it; checkpoints of another run are replaced. The folder is not removed after the fit.
        cache : str or Path, optional
            A folder that stores the embeddings of texts, at most 2 GB of them, so that a later fit on the same texts
            with other settings need not encode them again. By default nothing is stored.

        Returns
        -------
        RSTC
            The fitted estimator itself.
        """
        checkpoints = self._validate_checkpoints(checkpoints)
        config = self.config() if views is None else replace(self.config(), views=None)
        processes = current_process_group()
        if not processes.is_single:
            config = replace(config, row_order="given")  # no process has all texts to order
        if config.detail == FINE and not processes.is_single:
            raise InputError("detail='fine' needs a run in a single process")
        fit_input = validate_fit_input(
            X,
            y,
            self.n_clusters,
            class_contrast=config.class_contrast,
            noise=config.noise,
            processes=processes,
            orders_rows=config.row_order == "hash",
        )
        data, partial_labels = fit_input.data, fit_input.partial_labels
        if len(data.texts) < len(data.all_texts):
            warnings.warn(MissingTextWarning(len(data.all_texts) - len(data.texts), len(data.all_texts)), stacklevel=2)
        pairs = self._make_views(data, views, config)
        n_texts = int(processes.total(len(data.texts)))
        if views is not None:
            config.check_steps_for_views(n_texts)
        if unused := config.list_unused(n_texts):
            warnings.warn(UnusedSettingWarning(unused, config.training), stacklevel=2)

        with open_listener(progress) as listener:
            timing = Progress(listener)
            with timing.stage("load"):
                choice = choose_run_encoder(data.texts, config, processes)
                config = replace(config, encoder=choice.encoder) if choice else config
                encoder = processes.run_on_all(lambda: load_run_encoder(config, self.encoder))
                truncated_share = limit_tokens(encoder, data.texts, config.max_tokens, processes)
            config = replace(config, max_tokens=encoder.max_tokens)
            known = propagate_to_duplicates(data.texts, partial_labels.codes) if partial_labels else None
            own_features = data.select_features(features)
            inputs = TrainingInputs(data.texts, pairs, encoder, fit_input.n_clusters, known, features=own_features)
            memory = estimate_memory(inputs.texts, encoder, inputs.n_clusters, config, processes)
            processes.run_on_all(lambda: check_memory(memory, config.memory_gb))

            rng, watch = self._make_generator(processes), data.wrap_watch(watch)
            result = train(
                inputs,
                config,
                rng,
                progress=timing,
                watch=watch,
                processes=processes,
                checkpoints=checkpoints,
                cache_folder=None if cache is None else Path(cache),
            )

        classes = None
        if partial_labels:
            classes = _order_classes(partial_labels.classes, result.order)
            known = np.append(np.argsort(result.order), NO_CLUSTER)[known]
        reason = choice.reason if choice else None
        self._set_result(result, data, config, timing, processes, known=known, classes=classes, encoder_reason=reason)
        self.truncated_share_ = truncated_share
        self._choose_level(config.detail, timing)
        return self

    def update(
        self,
        X: Any,
        *,
        old: Any = None,
        fixed: Mapping[int, int] | None = None,
        proposals: Iterable[Proposal] | None = None,
        progress: Listener | bool | None = None,
        watch: Watch | None = None,
    ) -> RSTC:
        """Continue training with more texts; clusters keep their numbers.

        Training starts from the labels that the model predicts for old and new texts. The fitted texts are then the
        old ones followed by the new ones, and `drift_` measures how the new ones differ. Groups of new texts that fit
        no cluster are proposed as new clusters (`proposals_`), which `accept_proposals` adds. A cluster that holds no
        text before the update stays empty.

        Parameters
        ----------
        X : list, array, column or table
            The new texts.
        old : list, array, column or table, optional
            The texts that the model was fitted on; required for a loaded model, which does not hold them.
        fixed : mapping, optional
            From positions of old texts to the clusters that these keep, -1 for outliers; the others may move.
        proposals : iterable of Proposal, optional
            Proposals of an earlier update, by default `proposals_`: texts of open ones may be proposed again with new
            ones, and texts like those of declined ones are not.
        progress : bool or callable, optional
            As in `fit`.
        watch : callable, optional
            As in `fit`.

        Returns
        -------
        RSTC
            The updated estimator itself.
        """
        check_is_fitted(self, "network_")
        if old is None and not hasattr(self, "_texts"):
            raise InputError(
                "a loaded model does not hold the texts it was fitted on; pass them: update(new, old=texts)"
            )
        config, processes = self.config_, SINGLE_PROCESS
        old_texts, new_texts = self._texts if old is None else to_text_list(old), to_text_list(X)
        validate_new_texts(new_texts, config.class_contrast)
        fixed_clusters = validate_fixed_clusters(fixed or {}, len(old_texts), self.n_clusters_)
        data = NonEmptyTexts.from_list([*old_texts, *new_texts], None, self.text_column_)
        if config.row_order == "hash":
            data = data.order_by_hash()
        rows = np.array(data.rows, dtype=np.int64)
        is_new = rows >= len(old_texts)
        given = np.append(fixed_clusters, np.full(len(new_texts), NOT_FIXED))[rows]

        with open_listener(progress) as listener:
            timing = Progress(listener)
            with timing.stage("predict"):
                assignment = self.assign(data.all_texts)
                network = deepcopy(self.network_)
                truncated_share = limit_tokens(network.encoder, data.texts, config.max_tokens)
            labels = assignment.probabilities[rows].argmax(1).astype(np.int64)
            labels = np.where(given >= 0, given, labels)
            drift = measure_drift(labels, assignment.confidence[rows], is_new, self.n_clusters_)
            with timing.stage("novelty"):
                clusters = np.where(given == NOT_FIXED, assignment.clusters[rows], given)
                earlier = list(getattr(self, "proposals_", []) if proposals is None else proposals)
                found = find_proposals(
                    data.texts,
                    # Of the model before training, which would draw texts of a new kind to the clusters that there are.
                    assignment.embeddings[rows],
                    clusters,
                    is_new,
                    self.given_names or [None] * self.n_clusters_,
                    np.random.default_rng(0),
                    move_rows(earlier, {row: i for i, row in enumerate(data.rows)}),
                )
            # Views that were passed to `fit` exist for the old texts only.
            pairs = make_views(data.texts, config.views or self.views or str(Config().views))
            warm_start = WarmStart(network, labels, self._fitted_model.start)
            used = np.unique(labels[~is_new])
            if len(used) < self.n_clusters_:  # training would fill them, merged ones as well
                labels = _nearest_used(assignment.probabilities[rows], used, labels)
                warm_start = leave_out_empty(replace(warm_start, labels=labels), used)
            inputs = TrainingInputs(data.texts, pairs, network.encoder, len(used), warm_start=warm_start)
            memory = estimate_memory(inputs.texts, inputs.encoder, inputs.n_clusters, config, processes)
            check_memory(memory, config.memory_gb)

            rng, watch = self._make_generator(processes), data.wrap_watch(watch)
            result = train(inputs, config, rng, progress=timing, watch=watch, processes=processes)
            if len(used) < self.n_clusters_:
                result = restore_numbers(result, used, self.n_clusters_)

        known = np.where(given >= 0, given, NO_CLUSTER)
        self._set_result(
            result,
            data,
            config,
            timing,
            processes,
            known=known if (known >= 0).any() else None,
            classes=self.classes_,
            previous=self._fitted_model,
            n_expected=len(used),
        )
        self.labels_[rows[given == NO_CLUSTER]] = NO_CLUSTER
        self.truncated_share_ = truncated_share
        moved = (self.probabilities_[rows].argmax(1) != labels) & (given == NOT_FIXED)
        self.drift_ = replace(drift, moved=float(moved[~is_new].mean()) if not is_new.all() else 0.0)
        self.proposals_ = move_rows(found, dict(enumerate(data.rows)))
        return self

    def accept_proposals(self, ids: Iterable[int] | str = "all") -> RSTC:
        """Make clusters of proposals; each gets the next number, and the model learns to predict it.

        The other texts and clusters stay as they are.

        Parameters
        ----------
        ids : iterable of int or "all"
            The numbers of the proposals (`Proposal.id`).

        Returns
        -------
        RSTC
            The estimator itself, with more clusters.
        """
        check_is_fitted(self, "network_")
        if not hasattr(self, "proposals_"):
            raise InputError("there are no proposals before `update`")
        chosen = select_proposals(self.proposals_, ids)
        if not chosen:
            return self
        data, labels, n_before = self._fitted_data(), self.labels_.copy(), self.n_clusters_
        for number, proposal in enumerate(chosen, start=n_before):
            labels[proposal.rows] = number
        n_clusters = n_before + len(chosen)
        E, clusters = self.embedding_[data.rows], labels[data.rows]
        dropout = self.config_.dropout
        network = refit_network(self.network_, torch.from_numpy(E), clusters, n_clusters, dropout)
        classes = None if self.classes_ is None else [*self.classes_, *[None] * len(chosen)]
        names = [*(self._name_fitted_model().names or [None] * n_before), *(proposal.name for proposal in chosen)]
        model = replace_clusters(self._fitted_model, network, torch.from_numpy(E), clusters, classes, names)
        P = network.predict_embeddings(torch.from_numpy(E)).log_p.exp().numpy()
        changed = np.flatnonzero(labels[data.rows] != self.labels_[data.rows])
        confidence, texts = self.confidence_[data.rows], [data.texts[row] for row in changed]
        confidence[changed] = assess_confidence(
            model.confidence_model, P[changed], E[changed], texts, clusters[changed]
        )
        self._set_fitted_model(model)
        self.n_clusters = n_clusters
        self.reliability_ = None  # of the clusters before
        self.confidence_, self.probabilities_ = data.expand(confidence, 0), data.expand(P, 0)
        self.labels_ = labels
        accepted = {proposal.id for proposal in chosen}
        self.proposals_ = [replace(p, status=ACCEPTED) if p.id in accepted else p for p in self.proposals_]
        return self

    def fit_predict(self, X: Any, y: object = None, **fit_params: Any) -> NDArray[np.int64]:
        """Fit the model and return the cluster of each text, (N,); the arguments are those of `fit`."""
        return self.fit(X, y, **fit_params).labels_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the cluster of each text, (N,); -1 for rows without a text and, with `noise`, for outliers."""
        return self._assign_in_blocks(X, lambda assignment: assignment.clusters)

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probability of each cluster, (N, C); zeros for rows without a text."""
        return self._assign_in_blocks(X, lambda assignment: assignment.probabilities)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the learned embedding of each text, (N, D); zeros for rows without a text."""
        return self._assign_in_blocks(X, lambda assignment: assignment.embeddings)

    def assign(self, X: Any) -> Assignment:
        """Return clusters, probabilities, embeddings and confidence of texts in one pass over them."""
        check_is_fitted(self, "network_")
        data = NonEmptyTexts.from_list(to_text_list(X))
        assignment = self._fitted_model.assign(data.texts)
        return Assignment(
            data.expand(assignment.clusters, NO_CLUSTER),
            data.expand(assignment.probabilities, 0),
            data.expand(assignment.embeddings, 0),
            data.expand(assignment.confidence, 0),
        )

    def predict_batch(self, batch: Any, text_column: str | Sequence[str] | None = None) -> Any:
        """Return a batch of rows with `cluster`, `cluster_name`, `confidence` and `confidence_level`, for data engines.

        It can be passed to `dataset.map_batches(model.predict_batch)` (Ray), `frame.mapInArrow(model.predict_batch,
        schema)` (Spark), `frame.map_partitions(model.predict_batch)` (Dask) and `frame.map_batches(model.predict_batch,
        schema=schema)` (polars, lazy). If the workers are other processes, the engine sends them the whole model, with
        the texts that it was fitted on; `rstc.SavedModel` has the same method, and workers load the model from its
        folder.

        Parameters
        ----------
        batch : table, record batch, dict or iterator
            A pyarrow table or record batch, a table of pandas or polars, a dictionary of columns, or an iterator over
            these; the result has the same type.
        text_column : str or sequence of str, optional
            The column that holds the texts, or several whose texts are joined by line breaks; by default that of the
            model's training data, or the only one.
        """
        check_is_fitted(self, "network_")

        def assign(texts: list[str | None]) -> tuple[Any, Any]:
            assignment = self.assign(texts)
            return assignment.clusters, assignment.confidence

        return predict_batch_with(batch, to_text_column(text_column) or self.text_column_, assign, self.cluster_names_)

    def save(self, folder: str | Path) -> None:
        """Write the fitted model to a folder that `RSTC.load` reads (`rstc.persistence.model_folder` describes it)."""
        check_is_fitted(self, "network_")
        save_model(Path(folder), self._name_fitted_model())

    def export_onnx(self, folder: str | Path) -> None:
        """Write the model as ONNX to a folder that `rstc.OnnxModel` reads, without torch; needs the extra `onnx`.

        The exported model assigns every text to a cluster: outlier detection (`noise`) is not exported.
        """
        check_is_fitted(self, "network_")
        from rstc.persistence.onnx_export import export_onnx

        export_onnx(self._name_fitted_model(), Path(folder))

    def push_to_hub(
        self,
        repo_id: str,
        private: bool = True,
        token: str | None = None,
        commit_message: str | None = None,
        license: str | None = None,
        language: str | Sequence[str] | None = None,
    ) -> str:
        """Upload the fitted model to the hub of models; `RSTC.load("hub:OWNER/MODEL")` reads it.

        The fitted texts are not uploaded, but the names and descriptions of the clusters are, which may be made of
        their words, and known classes. An earlier model in the repository is replaced in one commit.

        Parameters
        ----------
        repo_id : str
            The model's name on the hub, OWNER/MODEL; the repository is created if there is none.
        private : bool
            Whether a repository that is created is private; that of an existing one is not changed.
        token : str, optional
            The token of the hub; by default the one that `hf auth login` stored, or HF_TOKEN.
        commit_message : str, optional
            The message of the commit.
        license : str, optional
            The model's license in the words of the hub, such as "mit"; by default that of its encoder, if rstc brought
            it.
        language : str or sequence of str, optional
            ISO 639 codes for the card; by default the languages of the fitted texts.

        Returns
        -------
        str
            The address of the commit.
        """
        check_is_fitted(self, "network_")
        from rstc.persistence.hub_upload import push_model

        return push_model(self._name_fitted_model(), repo_id, private, token, commit_message, license, language)

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> RSTC:
        """Read a model that `save` wrote; it predicts as before.

        The folder holds neither the fitted texts and their labels nor functions that made views. On another kind
        of processor rounding differs, which may change the cluster of a text that lies between two.

        Parameters
        ----------
        folder : str or Path
            A model folder, or a model on the hub, hub:OWNER/MODEL.
        device : str
            Where the model computes.
        """
        folder = resolve_folder(folder)
        fitted_model = load_model(folder, device)
        settings = {name: value for name, value in fitted_model.config.to_dict().items() if name != "encoder"}
        model = cls(
            n_clusters=fitted_model.n_clusters,
            preset=fitted_model.preset,
            random_state=fitted_model.random_state,
            encoder=str(folder / ENCODER),
            **settings,
        )
        model._set_fitted_model(fitted_model)
        return model

    def _set_result(
        self,
        result: TrainResult,
        data: NonEmptyTexts,
        config: Config,
        timing: Progress,
        processes: ProcessGroup,
        *,
        known: Ints | None = None,
        classes: list[Any] | None = None,
        previous: FittedModel | None = None,
        n_expected: int | None = None,
        encoder_reason: str | None = None,
    ) -> None:
        """Set all attributes from the result of training.

        Texts keep their `known` cluster (N,), where it is not NO_CLUSTER. Of a `previous` model, the names
        of its clusters, the record of how their number was found and the reason for its encoder are kept. `n_expected`
        clusters should hold a text, by default all.
        """
        prediction = result.prediction
        clusters = find_final_clusters(prediction, data.texts, known, config.noise, timing, processes)
        n_filled, n_clusters = int((clusters.sizes > 0).sum()), n_expected or len(clusters.sizes)
        if n_filled < COLLAPSE_SHARE * n_clusters:
            warnings.warn(CollapseWarning(n_filled, n_clusters, config.eps2, config.start), stacklevel=3)
        fitted_model = FittedModel(
            network=result.network,
            config=config,
            class_distribution=result.b,
            hierarchy=clusters.hierarchy,
            classes=classes,
            outlier_detector=clusters.outlier_detector,
            confidence_model=result.reliability.confidence_model if result.reliability else None,
            names=previous.names if previous else None,
            descriptions=previous.descriptions if previous else None,
            n_clusters_search=previous.n_clusters_search if previous else result.cluster_count,
            history=result.history,
            start=result.start,
            n_iter=result.n_steps,
            converged=result.converged,
            n_texts=int(processes.total(len(data.texts))),
            n_trained=result.n_trained,
            text_column=data.column,
            preset=self.preset,
            random_state=int(self.random_state) if isinstance(self.random_state, (int, np.integer)) else None,
            encoder_reason=previous.encoder_reason if previous else encoder_reason,
            languages=list_main_languages(measure_languages(data.texts)),
        )
        P, E = prediction.log_p.exp().numpy(), prediction.E.numpy()
        labels = fitted_model.mark_outliers(clusters.labels, E, data.texts)
        if known is not None:
            labels = np.where(known == NO_CLUSTER, labels, known)  # a text of a known class is no outlier
        reliability = result.reliability
        confidence = confidence_of(P, clusters.labels) if reliability is None else reliability.confidence
        if known is not None:
            confidence = np.where(known == NO_CLUSTER, confidence, np.float32(1))  # their cluster is given
        self._set_fitted_model(fitted_model)
        self.reliability_ = reliability and replace(reliability, confidence=confidence)
        self.confidence_ = data.expand(confidence, 0)
        self.labels_ = data.expand(labels, NO_CLUSTER)
        self.probabilities_ = data.expand(P, 0)
        self.embedding_ = data.expand(E, 0)
        self.losses_ = result.losses
        self.seconds_ = timing.seconds
        self._texts, self._index, self._is_shared = data.all_texts, data.index, not processes.is_single
        self.__dict__.pop("_map_layout", None)
        self.__dict__.pop("proposals_", None)  # of an earlier update

    def _set_fitted_model(self, model: FittedModel) -> None:
        """Set the attributes that a model folder holds; those of the fitted texts are set by `fit` alone."""
        self._fitted_model = model
        self.network_ = model.network
        self.config_ = model.config
        self.encoder_reason_ = model.encoder_reason
        self.n_clusters_ = model.n_clusters
        self.class_distribution_ = model.class_distribution
        self.classes_ = model.classes
        self.outlier_detector_ = model.outlier_detector
        self.n_clusters_search_ = model.n_clusters_search
        self.history_ = model.history
        self.n_iter_ = model.n_iter
        self.converged_ = model.converged
        self.n_texts_ = model.n_texts
        self.n_trained_ = model.n_trained
        self.text_column_ = model.text_column
        if model.hierarchy is not None:
            self.hierarchy_: Tree = model.hierarchy
        self._n_features_out = model.network.encoder.dim
        self._levels: Levels | None = None
        self._clear_result_frames()

    def _fitted_data(self) -> NonEmptyTexts:
        """Return the fitted texts in the order in which they are processed."""
        data = NonEmptyTexts.from_list(self._texts)
        return data.order_by_hash() if self.config_.row_order == "hash" else data

    def _validate_checkpoints(self, checkpoints: str | Path | CheckpointFolder | None) -> CheckpointFolder | None:
        if checkpoints is not None and self.random_state is None:
            raise InputError("checkpoints need a random_state: without one, the same call draws other numbers")
        return (
            CheckpointFolder(Path(checkpoints), replace=True) if isinstance(checkpoints, (str, Path)) else checkpoints
        )

    def _make_views(
        self, data: NonEmptyTexts, views: tuple[Sequence[Any], Sequence[Any]] | None, config: Config
    ) -> Views:
        """Return the views passed to `fit`, or else views made as the settings specify."""
        if views is None:
            method = self.views if config.views is None else config.views
            assert method is not None
            return make_views(data.texts, method)
        if len(views) != 2:
            raise InputError(f"views must be a pair, got {len(views)}")
        first, second = (data.select_view(list(view), number) for number, view in enumerate(views, start=1))
        return use_precomputed_views(data.texts, first, second)

    def _assign_in_blocks(self, X: Any, select: Callable[[Assignment], NDArray[Any]]) -> NDArray[Any]:
        """Assign texts block by block, so that only the selected array is held for all of them."""
        check_is_fitted(self, "network_")
        texts = to_text_list(X)
        starts = range(0, max(len(texts), 1), BLOCK_ROWS)
        return np.concatenate([select(self.assign(texts[start : start + BLOCK_ROWS])) for start in starts])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def _nearest_used(P: NDArray[np.float32], used: Ints, labels: Ints) -> Ints:
    """Return labels (N,) with the most probable used cluster (U,) in place of others, by probabilities (N, C)."""
    return np.where(np.isin(labels, used), labels, used[P[:, used].argmax(1)])


def _order_classes(classes: list[Any], order: Ints) -> list[Any]:
    """Return the known class of each cluster, None for new clusters, by the numbers (C,) that they had in training."""
    names = dict(enumerate(classes))
    return [names.get(number) for number in order.tolist()]
