"""The tokenised texts of a run, and their embeddings by the untrained and by the current encoder."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from rstc.errors import InputError
from rstc.representation.embedding_cache import EmbeddingCache
from rstc.representation.encoder import Encoder, TokenIds
from rstc.representation.hidden_state_cache import HiddenStateCache
from rstc.representation.optimizer import NonFiniteError
from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup
from rstc.runtime.large_matrix import LargeMatrix
from rstc.runtime.progress import Progress

BLOCK_ROWS = 65_536


class EncodedTexts:
    """All texts of this process, tokenised, and their embeddings by the untrained encoder.

    Parameters
    ----------
    encoder : Encoder
        The encoder.
    tokens : sequence of TokenIds
        The token ids of the texts.
    embedding_cache : EmbeddingCache, optional
        Embeddings that earlier runs have stored.
    processes : ProcessGroup
        The processes that share the run.
    progress : Progress, optional
        Times the embedding.
    """

    def __init__(
        self,
        encoder: Encoder,
        tokens: Sequence[TokenIds],
        embedding_cache: EmbeddingCache | None = None,
        processes: ProcessGroup = SINGLE_PROCESS,
        progress: Progress | None = None,
    ) -> None:
        self.encoder, self.tokens, self._embedding_cache = encoder, tokens, embedding_cache
        self.processes, self.progress = processes, progress or Progress()
        self._untrained: LargeMatrix | None = None

    def embed_untrained(self, cache: HiddenStateCache | None = None) -> Tensor:
        """Embed all texts by the untrained encoder, once.

        Parameters
        ----------
        cache : HiddenStateCache, optional
            Receives the hidden states that are computed.

        Returns
        -------
        Tensor of shape (N, D)
        """
        if self._untrained is None:
            embed = self._embedding_cache.embed if self._embedding_cache else self.encoder.embed
            with self.progress.stage("encode"):
                matrix = LargeMatrix(len(self.tokens), self.encoder.dim)
                embed(self.tokens, self.progress.advance, cache.get if cache else None, matrix.values)
                is_finite = all(block.isfinite().all() for block in matrix.values.split(BLOCK_ROWS))
                if self.processes.max(float(not is_finite)):
                    raise InputError("the encoder returns embeddings that are not finite for some texts")
                self._untrained = matrix
            self.release_pages()
        return self._untrained.values

    def release_pages(self) -> None:
        """Drop the untrained embeddings from memory if they lie in a file; labels are found on a part of them."""
        if self._untrained is not None:
            self._untrained.release_pages()

    def release_untrained(self) -> None:
        """Release the embeddings by the untrained encoder, which a trained encoder makes obsolete."""
        self._untrained = None


class TrainingTexts:
    """The training texts of this process, and their embeddings by the current encoder.

    Parameters
    ----------
    texts : EncodedTexts
        All texts of this process.
    rows : sequence of int, optional
        Rows of the training texts; by default all.
    cache : HiddenStateCache, optional
        Outputs of the encoder's frozen layers, if it has any.
    saves_cache : bool
        Whether the cache is written to its folder after training.

    Attributes
    ----------
    tokens : list of TokenIds
        The training texts.
    """

    def __init__(
        self,
        texts: EncodedTexts,
        rows: Sequence[int] | None = None,
        cache: HiddenStateCache | None = None,
        saves_cache: bool = False,
    ) -> None:
        self.all_texts, self.encoder, self.cache, self._saves_cache = texts, texts.encoder, cache, saves_cache
        self._rows = None if rows is None or len(rows) == len(texts.tokens) else rows
        self.tokens = list(texts.tokens) if self._rows is None else [texts.tokens[i] for i in self._rows]

    def embed(self, stage: str = "encode", step: int = 0) -> Tensor:
        """Embed the training texts.

        Parameters
        ----------
        stage : str
            Stage under which the time is recorded.
        step : int
            Number of optimizer steps taken. Before the first, and if no layer of the encoder is trainable, the
            embeddings are those of the untrained encoder, which are computed once.

        Returns
        -------
        Tensor of shape (n, D)
        """
        texts = self.all_texts
        if step == 0 or not self.encoder.is_trainable:
            if self._rows is None:
                return texts.embed_untrained(self.cache)
            E = texts.embed_untrained()[self._rows]
            texts.release_pages()
            return E
        texts.release_untrained()
        with texts.progress.stage(stage):
            E = self.encoder.embed(self.tokens, texts.progress.advance, self.cache.get if self.cache else None)
        if texts.processes.max(float(not E.isfinite().all())):
            raise NonFiniteError("an embedding is not finite")
        return E

    def embed_all(self, step: int) -> Tensor:
        """Embed all texts of this process, (N, D), after `step` optimizer steps."""
        texts = self.all_texts
        if step == 0 or not self.encoder.is_trainable:
            return texts.embed_untrained()
        texts.release_untrained()
        with texts.progress.stage("predict"):
            return self.encoder.embed(texts.tokens, texts.progress.advance)

    def release_cache(self) -> None:
        """Release the cached hidden states after training, and write them to the cache folder if there is one."""
        if self.cache and self._saves_cache:
            with self.all_texts.progress.stage("keep"):
                self.cache.save()
        self.cache = None
