"""RSTC as an encoder for MTEB's clustering tasks (extra `mteb`).

MTEB scores an embedding by clustering it with k-means. `RSTCEncoder` passes it the embedding that RSTC learns from the
task's own texts, without their labels. With `clusters=True` it passes the probabilities of RSTC's clusters instead, so
that k-means recovers these clusters and they are what is scored.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.estimator import RSTC
from rstc.runtime.optional import import_optional

try:
    from mteb.models.abs_encoder import AbsEncoder
    from mteb.models.model_meta import ModelMeta
except ImportError:  # RSTCEncoder raises it when it is used
    AbsEncoder, ModelMeta = object, None


class RSTCEncoder(AbsEncoder):
    """An encoder for MTEB's clustering tasks.

    Parameters
    ----------
    model : RSTC
        A fitted model encodes the texts of all tasks; of an unfitted one, a copy is fitted on the texts of each task.
    clusters : bool
        Whether to encode texts as the probabilities of the clusters, rather than as embeddings.
    name : str, optional
        The name under which MTEB stores results, as OWNER/NAME.
    """

    def __init__(self, model: RSTC, clusters: bool = False, name: str | None = None) -> None:
        import_optional("mteb", "mteb")
        self.model, self.clusters = model, clusters
        meta = {"name": name or f"rstc/{'clusters' if clusters else 'learned'}", "revision": "1"}
        self.mteb_model_meta = ModelMeta.create_empty(meta)

    def encode(self, inputs: Any, **_: Any) -> NDArray[np.float32]:
        """Return the embedding of each text, or its probabilities, in the order of MTEB's batches."""
        texts = [text for batch in inputs for text in batch["text"]]
        if hasattr(self.model, "network_"):
            return self.model.predict_proba(texts) if self.clusters else self.model.transform(texts)
        fitted = copy(self.model).fit(texts)
        return fitted.probabilities_ if self.clusters else fitted.embedding_
