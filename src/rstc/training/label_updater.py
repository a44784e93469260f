"""The labels of a run: where the first come from, and how they are renewed as the network learns.

Where labels are transported (the paper's way), the network's predictions are turned into them. Where they are found
anew (crossfit), models that have not seen them look in the learned space, and the network is taught the result. Both
need the paper's two modules: pseudo_labels finds, representation learns.

Of several processes each has the labels of its own texts. k-means alone, as the paper begins, and transports work on
rows where they are. Labels that take words, neighbours or rounds to find are looked for by the first process, which is
given the embeddings of all texts that learn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor
from torch.nn import functional as F

from rstc.training.checkpoint_file import Snapshot
from rstc.config import Config
from rstc.training.history import Renewal
from rstc.pseudo_labels.initialization import FirstLabels, Recipe, first_labels
from rstc.pseudo_labels.kmeans import Clustering, kmeans_labels
from rstc.pseudo_labels.constraints import UNKNOWN
from rstc.pseudo_labels.label_sources import TransportedLabels
from rstc.pseudo_labels.words import Words
from rstc.runtime.distributed import Ranks
from rstc.representation.heads import ClusterHead
from rstc.representation.network import Network, Prediction
from rstc.representation.head_training import give_head_start, teach_by_heart


class Labelling:
    """Finds and renews the labels of the texts that learn.

    Args:
        network: that learns them.
        words: of all texts that learn, in the first process; None where they have no say.
        n_clusters: C.
        config: how labels are found.
        known: the classes of these texts that are known, -1 of the others, (N,); None: nothing is known.
        own: where this process's texts are among those of all.
        rng: the same in all processes.
        ranks: the processes.
    """

    def __init__(
        self,
        network: Network,
        words: Words | None,
        n_clusters: int,
        config: Config,
        known: NDArray[np.int64] | None,
        own: slice,
        rng: np.random.Generator,
        ranks: Ranks,
    ) -> None:
        self.network, self.words, self.n_clusters, self.config = network, words, n_clusters, config
        self.known, self.own, self.rng, self.ranks = known, own, rng, ranks
        self.eps2 = 0.0  # the penalty on class sizes; the first labels tell
        self._found_once: FirstLabels | None = None  # in a space that does not learn
        self._recipe = Recipe(**{field.name: getattr(config, field.name) for field in fields(Recipe)})
        self._transports: TransportedLabels | None = None
        if config.labels != "crossfit":
            self._transports = TransportedLabels(
                config.labels, n_clusters, config.eps1, config.transport_method, rng, ranks
            )

    @property
    def finds_anew(self) -> bool:
        """Whether labels are found beside the network: a result of their own, which training has to better."""
        return self._transports is None

    def first(self, E: Tensor) -> Renewal:
        """Find labels of texts by their embeddings (n, D) and let G_p learn them just long enough."""
        config, plain = self.config, self._recipe.is_plain_kmeans and self.known is None
        everything = None if plain and not config.head_start else self.ranks.rows_at_first(E)
        found = self._by_kmeans_alone(E) if plain else self._found(everything)
        labels = torch.from_numpy(found.labels)
        if not plain:
            labels = labels[self.own]
        self.eps2 = found.eps2
        if config.head_start:
            learned = self.ranks.rows_at_first(labels)
            goal, batch, rate = config.head_start, config.batch_size, config.head_lr
            self._teach(
                lambda head: give_head_start(head, _given(everything), _given(learned), goal, batch, rate, self.rng)
            )
        return Renewal(self.network.judge(E), labels, labels, found.b, _facts(found))

    def going_on(self, before: Tensor, E: Tensor) -> Renewal:
        """Renew labels (n,) that a model gave before, after it has learned them; clusters keep their numbers."""
        self.eps2 = self._recipe.penalty(before.bincount(minlength=self.n_clusters).numpy())
        self._teach(lambda head: teach_by_heart(head, E, before, self.rng))  # a merged head had to be made anew
        return self.renewed(before, self.network.judge(E))

    def renewed(self, labels: Tensor, prediction: Prediction) -> Renewal:
        """Renew labels (n,) by what the network predicts, or beside it."""
        return self._anew(labels, prediction) if self._transports is None else self._transported(prediction)

    def by_kmeans(self, E: Tensor) -> Clustering:
        """Cluster embeddings (n, D) by k-means, whichever process has them; each gets the labels of its own."""
        points = F.normalize(E, dim=1) if self.config.unit_length else E
        found = kmeans_labels(points.numpy(), self.n_clusters, self.rng, self.config.kmeans_starts, self.ranks)
        self.ranks.same_draws(self.rng)
        return found

    def snapshot(self) -> Snapshot:
        """Return what later labels depend on."""
        facts: dict[str, Any] = {"eps2": self.eps2, "found": None}
        arrays: dict[str, NDArray[Any]] = {}
        if self._found_once:
            told = asdict(self._found_once)
            arrays = {name: told.pop(name) for name in ("labels", "b")}
            facts["found"] = told
        parts = {"transports": self._transports.snapshot()} if self._transports else {}
        return Snapshot.of(facts, arrays, **parts)

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from there."""
        facts, arrays = snapshot.facts, snapshot.arrays
        self.eps2 = facts["eps2"]
        self._found_once = None
        if facts["found"]:
            self._found_once = FirstLabels(labels=arrays["labels"], b=arrays["b"], **facts["found"])
        if self._transports:
            self._transports.restore(snapshot.part("transports"))

    def _by_kmeans_alone(self, E: Tensor) -> FirstLabels:
        """Return the paper's first labels, of this process's texts."""
        labels = self.by_kmeans(E).labels
        sizes = self.ranks.sum(torch.from_numpy(np.bincount(labels, minlength=self.n_clusters))).numpy()
        eps2 = self._recipe.penalty(sizes)
        return FirstLabels(labels, "kmeans", eps2, sizes / sizes.sum(), None)

    def _transported(self, prediction: Prediction) -> Renewal:
        """Turn what the network predicts into labels."""
        assert self._transports is not None
        found = self._transports.renew(prediction.log_p, prediction.clusters.numpy(), self.eps2)
        facts = {"transport_residual": found.residual, "transport_steps": found.iterations}
        labels = found.plan.argmax(1)
        if self.known is not None:
            labels = torch.from_numpy(np.where(self.known != UNKNOWN, self.known, labels.numpy()))
        return Renewal(prediction, prediction.clusters, labels, found.b.numpy(), facts)

    def _anew(self, before: Tensor, prediction: Prediction) -> Renewal:
        """Find labels in the learned space and teach them to the network."""
        ranks = self.ranks
        everything, labelled, placed = (ranks.rows_at_first(of) for of in (prediction.E, before, prediction.clusters))
        found = self._found(everything, labelled)
        fixed = 0 if self.known is None else int(self.known.max()) + 1
        place = ranks.at_first(lambda: _matched(found.labels, _numpy(placed), self.n_clusters, fixed))
        labels, b = torch.from_numpy(place[found.labels]), np.empty_like(found.b)
        b[place] = found.b
        self._teach(lambda head: teach_by_heart(head, _given(everything), labels, self.rng))
        taught = self.network.judge(prediction.E)
        return Renewal(taught, taught.clusters, labels[self.own], b, _facts(found))

    def _found(self, E: Tensor | None, before: Tensor | None = None) -> FirstLabels:
        """Find labels by the embeddings and the words, whatever the network says; or from those before.

        Both are of all texts that learn; only the first process has them and looks.
        """
        if self._found_once is not None:
            return self._found_once
        found = self.ranks.at_first(
            lambda: first_labels(
                _numpy(E),
                self.words,
                self.n_clusters,
                self._recipe,
                self.rng,
                None if before is None else before.numpy(),
                self.known,
            )
        )
        self.ranks.same_draws(self.rng)
        if not self.network.encoder.learns:
            self._found_once = found
        return found

    def _teach(self, teach: Callable[[ClusterHead], None]) -> None:
        """Let the first process teach G_p, and all have it."""
        head = self.network.cluster_head
        self.ranks.at_first(lambda: teach(head))
        for learned in head.parameters():
            self.ranks.as_first(learned.data)
        self.ranks.same_draws(self.rng)


def _given(values: Tensor | None) -> Tensor:
    """Return what the first process has of all, in that process."""
    assert values is not None
    return values


def _numpy(values: Tensor | None) -> NDArray[Any]:
    """Return the same as an array."""
    return np.asarray(_given(values).numpy())


def _facts(found: FirstLabels) -> dict[str, Any]:
    """Return what the history tells of labels that were found anew."""
    return {"start": found.start, "eps2": found.eps2, "agreement": found.agreement}


def _matched(
    labels: NDArray[np.int64], clusters: NDArray[np.int64], n_clusters: int, fixed: int = 0
) -> NDArray[np.int64]:
    """Return which cluster each label is to be called after (C,), so that as many texts as can be keep theirs.

    The first few, if asked, keep their names: they are classes that are known.

    >>> _matched(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1]), 2)
    array([1, 0])
    """
    common = np.bincount(labels * n_clusters + clusters, minlength=n_clusters**2).reshape(n_clusters, n_clusters)
    place = np.arange(n_clusters)
    place[fixed:] = fixed + linear_sum_assignment(-common[fixed:, fixed:])[1]
    return place
