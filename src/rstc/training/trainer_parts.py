"""The components of a trainer, such as network, optimizer, data loader and schedule, and how they are built."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from rstc.config import Config
from rstc.pseudo_labels.cluster_count import ClusterCount, cluster_count_from_dict
from rstc.pseudo_labels.features import CUSTOM, STATIC, build_word_features
from rstc.pseudo_labels.initialization_settings import InitializationSettings
from rstc.pseudo_labels.n_clusters import estimate_n_clusters, sample_size
from rstc.representation.embedding_cache import EmbeddingCache
from rstc.representation.heads import ClusteringNetwork, ProjectingNetwork
from rstc.representation.hidden_state_cache import HiddenStateCache
from rstc.representation.network import Network
from rstc.representation.objective import ContrastiveObjective
from rstc.representation.optimizer import NetworkOptimizer
from rstc.representation.static_vectors import StaticVectors, load_static_vectors
from rstc.runtime.distributed import ProcessGroup
from rstc.runtime.progress import Progress
from rstc.training.checkpoint_file import StateDict
from rstc.training.data_loader import DataLoader, Generators
from rstc.training.inputs import TrainingInputs
from rstc.training.label_updater import LabelUpdater, SideFeatures
from rstc.training.reliability import ReliabilityEstimator
from rstc.training.schedule import Schedule, StoppingCriterion
from rstc.training.subsample import Subsample
from rstc.training.training_texts import EncodedTexts, TrainingTexts
from rstc.validation.n_clusters import ClusterRange


@dataclass(frozen=True)
class TrainerParts:
    """The parts that a `Trainer` runs.

    Attributes
    ----------
    subsample : Subsample
        Rows of the training texts.
    texts : TrainingTexts
        Tokens and embeddings of the training texts.
    network : Network
        The encoder with its two heads.
    optimizer : NetworkOptimizer
        Takes the optimizer steps.
    data_loader : DataLoader
        Provides the batches.
    label_updater : LabelUpdater
        Finds and updates the pseudo-labels.
    schedule : Schedule
        Steps of the label updates, and the last step.
    stopping : StoppingCriterion
        Tests whether the run has converged before the last step.
    generators : Generators
        Random generators of the data loader and the label updater.
    cluster_count : ClusterCount or None
        The estimate of the number of clusters; None if the number was given.
    warm_start_labels : Tensor of shape (n,) or None
        Clusters that the model of a warm start predicts for the training texts.
    reliability : ReliabilityEstimator or None
        Estimates how far the final clusters can be trusted; None if `repeats` is 0.
    """

    subsample: Subsample
    texts: TrainingTexts
    network: Network
    optimizer: NetworkOptimizer
    data_loader: DataLoader
    label_updater: LabelUpdater
    schedule: Schedule
    stopping: StoppingCriterion
    generators: Generators
    cluster_count: ClusterCount | None = None
    warm_start_labels: Tensor | None = None
    reliability: ReliabilityEstimator | None = None


def build_trainer_parts(
    inputs: TrainingInputs,
    config: Config,
    rng: np.random.Generator,
    encoded: EncodedTexts,
    subsample: Subsample,
    checkpoint: StateDict | None,
    processes: ProcessGroup,
    progress: Progress,
) -> TrainerParts:
    """Build the parts of a trainer.

    The weights of the heads are drawn from torch's global generator.

    Parameters
    ----------
    inputs : TrainingInputs
        The inputs of the run.
    config : Config
        The settings.
    rng : numpy.random.Generator
        The same in all processes.
    encoded : EncodedTexts
        The tokenised texts of this process, by `read_texts`.
    subsample : Subsample
        Rows of the training texts.
    checkpoint : dict or None
        State of the run to resume; it holds the estimate of the number of clusters, which is not repeated.
    processes : ProcessGroup
        The processes that share the texts.
    progress : Progress
        Times the stages.

    Returns
    -------
    TrainerParts
    """
    schedule = Schedule.from_config(subsample.n_texts, inputs.encoder.n_trainable_layers, config)
    generators = Generators.spawn(rng, processes)
    encoder, cache = inputs.encoder, None
    if encoder.is_split and encoder.is_trainable:
        cache = HiddenStateCache(encoder, config.cache_mb * 2**20, config.cache_folder)
    texts = TrainingTexts(encoded, subsample.rows.tolist(), cache, bool(config.cache_folder))
    if texts.cache and (checkpoint or schedule.contrast_steps or not schedule.uses_labels):
        # The last bits of hidden states depend on the batch they are computed in, so all are computed in this pass.
        texts.embed()
    static_vectors = None
    if config.static and (config.class_contrast or isinstance(inputs.n_clusters, tuple)):
        with progress.stage("features"):
            static_vectors = load_static_vectors(config.static_vectors)
    side_features = _build_side_features(inputs, config, subsample, static_vectors, rng, processes, progress)
    cluster_count, n_clusters = None, inputs.n_clusters
    if isinstance(n_clusters, tuple):
        if checkpoint:
            cluster_count = cluster_count_from_dict(checkpoint["cluster_count"])
        else:
            fixed_mix = InitializationSettings.from_config(config).fixed_mix
            cluster_count = _estimate_n_clusters(texts, side_features, fixed_mix, n_clusters, rng, processes, progress)
        assert cluster_count is not None
        n_clusters = cluster_count.n_clusters
    network = _build_network(inputs, n_clusters, config)
    objective = ContrastiveObjective(network, config.lambda_i, config.tau, processes)
    always_labelled = schedule.uses_labels and schedule.contrast_steps == 0
    optimizer = NetworkOptimizer(objective, config.encoder_lr, config.head_lr, always_labelled)
    if not processes.is_single:
        torch.manual_seed(torch.initial_seed() + processes.rank)  # dropout differs between the processes
    views = inputs.views.select(subsample.rows.tolist())
    data_loader = DataLoader(texts, views, config.batch_size, subsample.ends, generators, processes, progress)
    partial_labels = None if inputs.partial_labels is None else inputs.partial_labels[subsample.rows]
    label_updater = LabelUpdater(network, config, side_features, partial_labels, subsample.local_rows, rng, processes)
    stopping = StoppingCriterion(config.stop_interval, config.delta, processes, subsample.local_rows)
    warm_start = inputs.warm_start
    warm_start_labels = None if warm_start is None else torch.from_numpy(warm_start.labels[subsample.rows])
    if warm_start:
        label_updater.start = warm_start.start
    reliability = None
    if config.repeats:
        embed_words = static_vectors.embed if static_vectors else None
        n_clusters_given = cluster_count is None and warm_start is None
        reliability = ReliabilityEstimator(inputs.texts, subsample, config.repeats, embed_words, n_clusters_given)
    return TrainerParts(
        subsample,
        texts,
        network,
        optimizer,
        data_loader,
        label_updater,
        schedule,
        stopping,
        generators,
        cluster_count,
        warm_start_labels,
        reliability,
    )


def read_texts(
    inputs: TrainingInputs,
    trainable_layers: int | str,
    cache_folder: Path | None,
    processes: ProcessGroup,
    progress: Progress,
) -> EncodedTexts:
    """Freeze all layers of the encoder but the last `trainable_layers`, and tokenise the texts of this process."""
    encoder = inputs.encoder
    encoder.train_layers(trainable_layers)
    with progress.stage("encode"):
        tokens = encoder.tokenize(inputs.texts)
    cache = EmbeddingCache(cache_folder, encoder) if cache_folder else None
    return EncodedTexts(encoder, tokens, cache, processes, progress)


def _build_side_features(
    inputs: TrainingInputs,
    config: Config,
    subsample: Subsample,
    static_vectors: StaticVectors | None,
    rng: np.random.Generator,
    processes: ProcessGroup,
    progress: Progress,
) -> SideFeatures:
    """Build the feature sets beside the embedding of this process's training texts, by statistics of all."""
    dense, words = {}, None
    if config.class_contrast or isinstance(inputs.n_clusters, tuple):
        texts = [inputs.texts[i] for i in subsample.rows]
        with progress.stage("features"):
            if static_vectors:
                dense[STATIC] = static_vectors.embed(texts, processes)
            if config.words:
                words = build_word_features(texts, rng, processes)
        if inputs.features is not None:
            dense[CUSTOM] = F.normalize(torch.from_numpy(inputs.features[subsample.rows]), dim=1).numpy()
    return SideFeatures(dense, words, processes)


def _estimate_n_clusters(
    texts: TrainingTexts,
    side_features: SideFeatures,
    fixed_mix: dict[str, float],
    n_clusters_range: ClusterRange,
    rng: np.random.Generator,
    processes: ProcessGroup,
    progress: Progress,
) -> ClusterCount:
    """Estimate the number of clusters in the encoder's space before training, on a sample of the texts.

    A separate generator is used, so that a run with this n_clusters has the same result.
    """
    counting_rng = rng.spawn(1)[0]
    features = side_features.join(F.normalize(texts.embed(), dim=1))
    # The sample is drawn here as `estimate_n_clusters` draws it, so that no more than that is gathered.
    sample = features.gather_sample(sample_size(n_clusters_range), counting_rng)

    def estimate() -> ClusterCount:
        assert sample is not None
        # Side features make small groups look more compact, so only those with a given weight count.
        return estimate_n_clusters(sample, fixed_mix, n_clusters_range, counting_rng, progress.advance)

    with progress.stage("count"):
        return processes.run_on_first(estimate)


def _build_network(inputs: TrainingInputs, n_clusters: int, config: Config) -> Network:
    """Build the network, with the heads of the warm start if there is one."""
    encoder, warm_start = inputs.encoder, inputs.warm_start
    head = ClusteringNetwork(encoder.dim, n_clusters, config.dropout)
    projector = ProjectingNetwork(encoder.dim, config.projection_dim)
    if warm_start:
        projector = warm_start.network.projector
        if isinstance(warm_start.network.cluster_head, ClusteringNetwork):  # merged clusters get a new head
            head = warm_start.network.cluster_head
    return Network(encoder, head, projector)
