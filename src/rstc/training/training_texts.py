"""The tokenised texts of a run, and the embeddings of its training texts by the current encoder."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from rstc.errors import InputError
from rstc.representation.encoder import Encoder, TokenIds
from rstc.representation.hidden_state_cache import HiddenStateCache
from rstc.representation.optimizer import NonFiniteError
from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup
from rstc.runtime.progress import Progress


class TrainingTexts:
    """The tokenised texts of this process.

    Parameters
    ----------
    encoder : Encoder
        The encoder.
    all_tokens : sequence of TokenIds
        All texts of this process.
    rows : sequence of int, optional
        Rows of the training texts; by default all.
    cache : HiddenStateCache, optional
        Outputs of the encoder's frozen layers, if it has any.
    saves_cache : bool
        Whether the cache is written to its folder after training.
    processes : ProcessGroup
        The processes that share the texts.
    progress : Progress, optional
        Times the embedding.

    Attributes
    ----------
    tokens : list of TokenIds
        The training texts.
    """

    def __init__(
        self,
        encoder: Encoder,
        all_tokens: Sequence[TokenIds],
        rows: Sequence[int] | None = None,
        cache: HiddenStateCache | None = None,
        saves_cache: bool = False,
        processes: ProcessGroup = SINGLE_PROCESS,
        progress: Progress | None = None,
    ) -> None:
        self.encoder, self.all_tokens, self.cache, self._saves_cache = encoder, all_tokens, cache, saves_cache
        self.tokens = list(all_tokens) if rows is None else [all_tokens[i] for i in rows]
        self._processes, self._progress = processes, progress or Progress()
        self._fixed_E: Tensor | None = None  # of an encoder that is not trained

    def embed(self, stage: str = "encode", step: int = 0) -> Tensor:
        """Embed the training texts; only once if no layer of the encoder is trainable.

        Parameters
        ----------
        stage : str
            Stage under which the time is recorded.
        step : int
            Number of optimizer steps taken. At step 0, a non-finite embedding raises an InputError, because the encoder
            itself is at fault; later a NonFiniteError, because training has diverged.

        Returns
        -------
        Tensor of shape (n, D)
        """
        if self._fixed_E is not None:
            return self._fixed_E
        with self._progress.stage(stage):
            E = self.encoder.embed(self.tokens, self._progress.advance, self.cache.get if self.cache else None)
            if not self._processes.max(float(not E.isfinite().all())):
                self._fixed_E = E if not self.encoder.is_trainable else None
                return E
        if step == 0:
            raise InputError("the encoder returns embeddings that are not finite for some texts")
        raise NonFiniteError("an embedding is not finite")

    def release_cache(self) -> None:
        """Release the cached hidden states after training, and write them to the cache folder if there is one."""
        if self.cache and self._saves_cache:
            with self._progress.stage("keep"):
                self.cache.save()
        self.cache = None
