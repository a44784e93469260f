"""Every setting of a run: `Config`, the one place that says a setting's type, default, limits, meaning and symbol.

A new setting is a field here, declared by `setting`, and the code that uses it. The rest follows from the field:
validation, `--set NAME=VALUE`, `rstc settings`, `help(Config)` and `help(RSTC)`; `make docs-generated` writes RSTC's
parameter and the table in docs/settings.md.
"""

from __future__ import annotations

import inspect
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rstc.config.fields import read_settings, setting
from rstc.errors import InputError
from rstc.representation.view_specs import parse_view_specs

Pooling = Literal["auto", "mean", "cls", "max", "model"]
Training = Literal["auto", "always", "never"]
Start = Literal["auto", "kmeans", "spectral", "linkage"]
LabelSource = Literal["crossfit", "saot", "ot-random", "ot-uniform", "ot-average", "ot-average-released", "ot-near"]
TransportMethod = Literal["newton", "alternating", "literal"]
Detail = Literal["auto", "coarse", "medium", "fine"]
RowOrder = Literal["hash", "given"]
Precision = Literal["auto", "float32", "bfloat16", "float16"]

_NETWORK = "Encoder, heads and views"
_FIRST_LABELS = "First labels"
_LABEL_UPDATES = "Label updates"
_OUTLIERS = "Outliers"
_RELIABILITY = "Confidence"
_LEVELS = "Levels of detail"
_LOSSES = "Losses"
_OPTIMISATION = "Optimisation"
_RESOURCES = "Resources"
_USED_IN_TRAINING = (
    *("projection_dim", "views", "contrast_steps", "renewals", "first_renewal", "lambda_i", "tau", "encoder_lr"),
    *("max_steps", "max_epochs", "delta", "stop_interval", "cache_mb", "cache_folder"),
)


@dataclass(frozen=True)
class Config:
    """The settings of a run, validated when it is made.

    An impossible value or combination raises `rstc.InputError`.
    """

    encoder: str | None = setting(
        None,
        "Sentence-Transformers model that embeds the texts: 'multilingual' (needs the extra multilingual), a folder or "
        "a hub name. None takes the bundled 'all-MiniLM-L6-v2', but 'multilingual' for texts that are mostly not "
        "English, where it is installed.",
        group=_NETWORK,
        symbol="Phi",
    )
    pooling: Pooling = setting(
        "auto",
        "How the token vectors of the last layer become one embedding: by their mean, by the first token ('cls'), by "
        "their maximum, or by the modules that the encoder itself has after its transformer ('model'). 'auto' takes "
        "the mean for all-MiniLM-L6-v2 and 'model' for all others.",
        group=_NETWORK,
    )
    prompt: str = setting(
        "auto",
        "Words in front of each text that the encoder was trained with, such as 'query: '; empty for none. 'auto' "
        "takes the encoder's own prompt for clustering, else its default one, and 'query: ' for models of the E5 "
        "family.",
        group=_NETWORK,
    )
    max_tokens: int | Literal["auto"] = setting(
        "auto",
        "Maximum number of tokens of a text, special tokens included; the rest is cut off. Time and memory grow with "
        "it. 'auto' leaves 95 % of the texts whole, with a limit from 32 to 128 tokens; set a number for longer texts.",
        group=_NETWORK,
        at_least=3,
    )
    trainable_layers: int | Literal["all"] = setting(
        1,
        "Number of transformer layers to train, counted from the last; 'all' trains every parameter of the encoder. "
        "0 freezes the encoder; with labels='crossfit' the first labels are then the result, without any training.",
        group=_NETWORK,
        at_least=0,
    )
    dropout: float = setting(
        0.5,
        "Dropout probability in the clustering head G_p.",
        group=_NETWORK,
        at_least=0,
        below=1,
    )
    projection_dim: int = setting(
        128,
        "Output dimension of the projection head G_z, in which the instance-wise contrastive loss compares views.",
        group=_NETWORK,
        symbol="D_2",
        at_least=1,
    )
    views: str | None = setting(
        "cutoff@0.1",
        "How two views of each text are made: an augmentation and the share of words or tokens it changes. '+' chains "
        "several ('deletion@0.2+typos'), a comma separates view 1 from view 2. None: the caller provides them.",
        group=_NETWORK,
        symbol="X^(1), X^(2)",
    )

    start: Start = setting(
        "auto",
        "Clustering algorithm of the first labels: 'kmeans' for clusters of similar sizes, 'linkage' (average linkage) "
        "for very uneven ones, 'spectral' (of the neighbour graph) for clusters of any shape. 'auto' compares k-means "
        "and linkage, and takes the clusters on which the feature sets agree best.",
        group=_FIRST_LABELS,
    )
    words: float | Literal["auto"] = setting(
        "auto",
        "Weight of word features (TF-IDF) beside the embedding, whose weight is 1, when labels are computed: higher "
        "where exact words matter (codes, names), lower for paraphrases; 0 does not use them. 'auto' compares 0, 0.5 "
        "and 1.",
        group=_FIRST_LABELS,
        at_least=0,
    )
    static: float | Literal["auto"] = setting(
        "auto",
        "Weight of static word vectors beside the embedding when labels are computed; 0 does not use them. 'auto' "
        "compares 0 and 1.",
        group=_FIRST_LABELS,
        at_least=0,
    )
    static_vectors: str = setting(
        "bundled",
        "Where static word vectors come from: 'bundled' (wordllama, 256 dimensions), or a folder with *.safetensors "
        "and tokenizer.json.",
        group=_FIRST_LABELS,
    )
    neighbours: int = setting(
        10,
        "Number of nearest texts, the text itself included, over which its features are averaged before clustering, "
        "at most half the mean cluster size; 0 skips the averaging.",
        group=_FIRST_LABELS,
        at_least=0,
    )
    swaps: bool = setting(
        True,
        "Whether each k-means run is refined by swaps: two clusters are merged and another is split as long as that "
        "lowers the inertia. Results then depend less on the seed.",
        group=_FIRST_LABELS,
    )
    kmeans_starts: int = setting(
        10,
        "Number of k-means runs, of which the one with the lowest inertia is kept; with swaps=True at most "
        "100 / n_clusters, but at least one.",
        group=_FIRST_LABELS,
        at_least=1,
    )
    unit_length: bool = setting(
        True,
        "Whether embeddings are scaled to unit length before k-means. False, as in the paper, needs words=0, "
        "static=0, neighbours=0, rounds=0, start='kmeans' and labels other than 'crossfit'.",
        group=_FIRST_LABELS,
    )
    rounds: int = setting(
        4,
        "Number of cross-fitting rounds: in each, the labels of every fold of texts are predicted anew by models that "
        "were fitted to the other folds; 0 keeps the labels of `start`.",
        group=_FIRST_LABELS,
        at_least=0,
    )
    contrast_steps: int = setting(
        0,
        "Number of training steps on the instance-wise loss L_I alone before the first labels are computed; they count "
        "towards max_steps.",
        group=_FIRST_LABELS,
        at_least=0,
    )
    head_start: float = setting(
        0.9,
        "Share of the first labels that the clustering head must reproduce before joint training starts; 0 skips this "
        "warm-up.",
        group=_FIRST_LABELS,
        at_least=0,
        below=1,
    )

    labels: LabelSource = setting(
        "crossfit",
        "Source of the pseudo-labels after the first ones. 'crossfit' computes them in the learned space as the first "
        "ones were. The others solve an optimal transport of the network's predictions, with a class distribution b "
        "that is estimated ('saot', M1 in the paper), fixed ('ot-random', 'ot-uniform'), a moving average of the "
        "predicted cluster sizes ('ot-average', M2; 'ot-average-released' as in the authors' released code, which "
        "takes the sizes in another order) or kept near the previous one ('ot-near', M3).",
        group=_LABEL_UPDATES,
        symbol="Q",
    )
    eps1: float = setting(
        0.5,
        "Weight of the entropy in the optimal transport: larger values give softer assignments. Rarely needs a change.",
        group=_LABEL_UPDATES,
        symbol="epsilon_1",
        above=0,
    )
    eps2: float | Literal["auto"] = setting(
        "auto",
        "Weight of the penalty on the class distribution b: larger values pull clusters towards equal sizes, smaller "
        "ones let the sizes follow the texts. 'auto' chooses it by the sizes of the first clusters: the more uneven, "
        "the smaller.",
        group=_LABEL_UPDATES,
        symbol="epsilon_2",
        at_least=0,
    )
    transport_method: TransportMethod = setting(
        "newton",
        "Solver of the optimal transport: Newton's method on the dual; the paper's alternating updates with exact "
        "class sizes, which do not converge for small eps2; or the paper's Algorithm 1 to the letter, 100 iterations.",
        group=_LABEL_UPDATES,
    )
    renewals: int = setting(
        2,
        "Number R of scheduled pseudo-label updates: update i = 0, ..., R - 1 is due at step T (i / (R - 1))^2 of T "
        "steps, so that they become rarer. The last step always ends with an update.",
        group=_LABEL_UPDATES,
        at_least=1,
    )
    first_renewal: int = setting(
        0,
        "Number of training steps with the class-wise loss L_C before the first pseudo-label update; earlier ones of "
        "the schedule are left out.",
        group=_LABEL_UPDATES,
        at_least=0,
    )

    noise: float = setting(
        0.0,
        "Share of outliers that may remain among the clustered texts: texts get cluster -1, the most unusual first, "
        "until no more than this share of the others is expected to be outliers; 0 gives every text a cluster.",
        group=_OUTLIERS,
        at_least=0,
        below=1,
    )

    repeats: int = setting(
        30,
        "Number of times that clusters are searched again in random parts of the texts, with a fixed encoder, to "
        "estimate the confidence of texts and the stability of clusters; 0 skips this, and the confidence is then the "
        "probability of the clustering head, which is far too high.",
        group=_RELIABILITY,
        at_least=0,
    )

    detail: Detail = setting(
        "auto",
        "Level of detail of the result: 'medium' has the given or estimated number of clusters, 'coarse' merges the "
        "most similar of them, 'fine' divides those that have stable sub-clusters. 'auto' takes 'medium', but "
        "'coarse' if the number is estimated and the estimate is weak.",
        group=_LEVELS,
    )

    class_contrast: bool = setting(
        True,
        "Whether the class-wise contrastive loss L_C is used. Without it the encoder is trained on L_I alone, and "
        "k-means clusters the learned embeddings (RSTC-I in the paper).",
        group=_LOSSES,
        symbol="L_C",
    )
    lambda_i: float = setting(
        1.0,
        "Weight of the instance-wise contrastive loss L_I; 0 leaves it out (RSTC-C in the paper).",
        group=_LOSSES,
        symbol="lambda_I",
        at_least=0,
    )
    tau: float = setting(
        0.5,
        "Temperature of the instance-wise contrastive loss L_I: smaller values give more weight to the most similar "
        "other texts.",
        group=_LOSSES,
        symbol="tau",
        above=0,
    )

    batch_size: int = setting(
        200,
        "Number of texts in a training step, over all processes that share the run.",
        group=_OPTIMISATION,
        symbol="N",
        at_least=2,
    )
    encoder_lr: float = setting(
        1e-4,
        "Learning rate of the encoder (Adam). Lower it where many layers are trained.",
        group=_OPTIMISATION,
        above=0,
    )
    head_lr: float = setting(
        5e-4,
        "Learning rate of the clustering and the projection head (Adam).",
        group=_OPTIMISATION,
        above=0,
    )
    training: Training = setting(
        "never",
        "Whether the encoder is trained. 'never': the labels found in its own space are the result. 'always' trains up "
        "to max_steps, which takes most of the time and seldom changes many labels. 'auto' trains for 20 steps and "
        "continues if at least a share of `delta` of the labels has changed; it does not train where texts exceed "
        "max_fit_texts. With labels other than 'crossfit', the encoder is always trained.",
        group=_OPTIMISATION,
    )
    max_steps: int = setting(
        50,
        "Maximum number of training steps, contrast_steps included.",
        group=_OPTIMISATION,
        at_least=1,
    )
    max_epochs: int = setting(
        20,
        "Maximum number of passes over the texts, which limits the steps where texts are few; 0 sets no limit.",
        group=_OPTIMISATION,
        at_least=0,
    )
    delta: float = setting(
        0.01,
        "Training stops when less than this share of the texts changed cluster between two stop tests.",
        group=_OPTIMISATION,
        symbol="delta",
        at_least=0,
        below=1,
    )
    stop_interval: int = setting(
        50,
        "Minimum number of training steps between two stop tests, which take place at pseudo-label updates.",
        group=_OPTIMISATION,
        at_least=1,
    )

    row_order: RowOrder = setting(
        "hash",
        "Order in which texts are processed: 'hash' (of the texts), so that shuffled rows give the same clusters, or "
        "'given' (as in the input), as in the paper. Runs of several processes take 'given'.",
        group=_RESOURCES,
    )
    max_fit_texts: int = setting(
        100_000,
        "Maximum number of texts to train on; 0 trains on all. If there are more, training takes a subsample in which "
        "rare texts have room, and the others are predicted. Lower it to save time and memory.",
        group=_RESOURCES,
        at_least=0,
    )
    memory_gb: float = setting(
        0.0,
        "Memory in GB that a run may take. A run that is estimated to need more is refused before it starts; 0 allows "
        "what is free.",
        group=_RESOURCES,
        at_least=0,
    )
    device: str = setting(
        "auto",
        "Torch device: 'cpu', 'cuda', 'cuda:1', 'mps'; 'auto' takes a GPU where there is one.",
        group=_RESOURCES,
    )
    precision: Precision = setting(
        "auto",
        "Floating-point type in which the encoder computes; 'auto' takes bfloat16 where the hardware supports it "
        "natively, and float32 elsewhere.",
        group=_RESOURCES,
    )
    cache_mb: int = setting(
        1024,
        "Memory in MiB for cached outputs of the frozen layers; what exceeds it goes to a temporary file.",
        group=_RESOURCES,
        at_least=0,
    )
    cache_folder: str | None = setting(
        None,
        "Folder that keeps the outputs of the frozen layers for later runs on the same texts; None keeps nothing.",
        group=_RESOURCES,
    )

    def __post_init__(self) -> None:
        """Convert numbers of numpy to plain ones, and reject values and combinations that are not allowed."""
        for entry in SETTINGS.values():
            object.__setattr__(self, entry.name, entry.validate(getattr(self, entry.name)))
        _check_combinations(self)

    @property
    def finds_labels_without_network(self) -> bool:
        """Whether labels do not come from the network, so that there is a result without training it."""
        return self.labels == "crossfit" and self.class_contrast

    @property
    def tries_training(self) -> bool:
        """Whether the run itself decides if the encoder is trained."""
        return self.training == "auto" and self.finds_labels_without_network

    def count_trained_layers(self, n_texts: int) -> int | Literal["all"]:
        """Return the number of layers that a run on `n_texts` texts trains, 0 if it does not train the encoder.

        With more than `max_fit_texts` texts, all of them would have to be encoded a second time by the trained encoder.
        """
        exceeds_limit = 0 < self.max_fit_texts < n_texts
        is_skipped = self.training == "never" or (self.training == "auto" and exceeds_limit)
        return 0 if is_skipped and self.finds_labels_without_network else self.trainable_layers

    def takes_steps(self, n_texts: int) -> bool:
        """Whether a run on `n_texts` texts trains a network: the encoder, or a head whose predictions become labels."""
        return bool(self.count_trained_layers(n_texts)) or not self.finds_labels_without_network

    def check_steps_for_views(self, n_texts: int) -> None:
        """Raise InputError if a run on `n_texts` texts takes no steps, which views that were given are for."""
        if not self.takes_steps(n_texts):
            cause = "trainable_layers=0" if not self.trainable_layers else f"training={self.training!r}; set 'always'"
            raise InputError(f"views are used in training only, but {cause}")

    def list_unused(self, n_texts: int) -> list[str]:
        """Return the settings of the training that were changed, if a run on `n_texts` texts does not train."""
        if self.count_trained_layers(n_texts) or not self.trainable_layers:
            return []
        return [name for name in _USED_IN_TRAINING if getattr(self, name) != SETTINGS[name].default]

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values by name."""
        return asdict(self)


SETTINGS = read_settings(Config)
Config.__doc__ = "\n".join(
    [
        inspect.cleandoc(Config.__doc__ or ""),
        "",
        "Parameters",
        "----------",
        *(entry.documentation for entry in SETTINGS.values()),
    ]
)


def _check_combinations(config: Config) -> None:
    """Reject settings that are allowed one by one but not together."""
    if config.views is not None:
        parse_view_specs(config.views)
    needs_unit_length = (
        config.words
        or config.static
        or config.neighbours
        or config.rounds
        or config.start != "kmeans"
        or config.labels == "crossfit"
    )
    if needs_unit_length and not config.unit_length:
        raise InputError(
            "unit_length=False needs words=0, static=0, neighbours=0, rounds=0, start='kmeans' and labels other than "
            "'crossfit'"
        )
    if config.labels == "ot-near" and config.eps2 == 0:
        raise InputError("labels='ot-near' needs eps2 > 0, which is what keeps b near the previous one; got eps2=0")
    if not config.class_contrast and config.lambda_i == 0:
        raise InputError("class_contrast=False needs lambda_i > 0: without L_C and L_I there is no loss to train on")
    if not config.class_contrast and config.trainable_layers == 0:
        raise InputError(
            "class_contrast=False needs layers to train: with trainable_layers=0 the embeddings stay as they are"
        )
