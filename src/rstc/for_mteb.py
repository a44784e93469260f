"""For MTEB: what RSTC learns from a task's texts, as an encoder that `mteb.evaluate` takes (extra `mteb`).

MTEB scores an embedding by clustering it with k-means. `RSTCEncoder` gives it the embedding that RSTC learns from the
task's own texts, without their labels; with `clusters=True` it gives the probabilities of RSTC's own clusters, so that
k-means has nothing left to do and the clusters are what is scored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.estimator import RSTC
from rstc.runtime.optional import from_extra

try:
    from mteb.models.abs_encoder import AbsEncoder
    from mteb.models.model_meta import ModelMeta
except ImportError:  # told when somebody wants to use it
    AbsEncoder, ModelMeta = object, None


class RSTCEncoder(AbsEncoder):
    """An encoder for MTEB's clustering tasks.

    Args:
        model: fitted, it encodes as it is; not fitted, it is fitted on the texts of each task.
        clusters: whether the clusters are scored and not the embedding.
        name: under which MTEB keeps results, as OWNER/NAME.
    """

    def __init__(self, model: RSTC, clusters: bool = False, name: str | None = None) -> None:
        from_extra("mteb", "mteb")
        self.model, self.clusters = model, clusters
        meta = {"name": name or f"rstc/{'clusters' if clusters else 'learned'}", "revision": "1"}
        self.mteb_model_meta = ModelMeta.create_empty(meta)

    def encode(self, inputs: Any, **_: Any) -> NDArray[np.float32]:
        """Return the embedding of each text, or its probabilities, in the order of MTEB's batches."""
        texts = [text for batch in inputs for text in batch["text"]]
        if not hasattr(self.model, "network_"):
            self.model.fit(texts)
            fitted = self.model.probabilities_ if self.clusters else self.model.embedding_
            del self.model.network_  # the next task is another
            return fitted
        return self.model.predict_proba(texts) if self.clusters else self.model.transform(texts)
