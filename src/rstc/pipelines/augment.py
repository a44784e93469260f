"""Make two augmented versions of each text outside of training, in memory or as two columns added to a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rstc.config import Config
from rstc.errors import InputError
from rstc.io.columns import extract_texts, find_text_columns, to_text_column, to_text_list
from rstc.io.formats import (
    STANDARD_OUTPUT,
    check_distinct_files,
    check_output,
    detect_format,
    open_table_writer,
    read_table,
)
from rstc.language.detection import measure_languages
from rstc.representation.encoder_choice import choose_encoder
from rstc.representation.folder_checks import check_encoder_source
from rstc.representation.view_specs import DEFAULT_AUGMENT_SPEC, ENCODER_METHODS, parse_view_specs
from rstc.runtime.progress import Listener, Progress
from rstc.validation.texts import NonEmptyTexts

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from rstc.representation.encoder import Encoder
    from rstc.representation.views import ViewLike

VIEW_COLUMNS = ("text1", "text2")  # added by `augment_file`

View = list[str | None]


def augment(
    texts: Sequence[Any],
    views: ViewLike | tuple[ViewLike, ViewLike] = DEFAULT_AUGMENT_SPEC,
    *,
    random_state: int | np.random.Generator | None = 0,
    encoder: str | Path | SentenceTransformer | None = None,
    device: str = "auto",
    progress: Listener | None = None,
) -> tuple[View, View]:
    """Make two augmented versions of each text.

    Parameters
    ----------
    texts : sequence
        The texts, some of which may be missing or empty.
    views : str, callable or pair of these
        A view specification such as "deletion@0.2+typos", a function of texts, or two of these, one for each version.
    random_state : int, Generator or None
        A seed or a numpy generator.
    encoder : str, Path, SentenceTransformer or None
        The Sentence-Transformers model that some views need; None loads the bundled one.
    device : str
        The device of the encoder.
    progress : callable, optional
        Called with (stage, done, total).

    Returns
    -------
    pair of lists
        The two versions of each text, None where there is no text.

    Examples
    --------
    >>> augment(["the parcel never came", None, "help"], "deletion@0.5")
    (['the', None, 'help'], ['the parcel never came', None, 'help'])
    """
    data = _find_texts(to_text_list(texts))
    # Torch takes seconds to import, and `augment_file` validates its input without it.
    from rstc.representation.augmenters.base import AugmenterResources
    from rstc.representation.loading import load_encoder
    from rstc.representation.views import make_views
    from rstc.runtime.device import choose_device

    pair = make_views(data.texts, views)
    if not pair.changes_texts or any(view.cutoff.share for view in (pair.first, pair.second)):
        raise _no_text_error(views)
    timing = Progress(progress)
    torch_device, config = choose_device(device), Config()

    def load() -> Encoder:
        with timing.stage("load"):
            source = choose_encoder(measure_languages(data.texts)).encoder if encoder is None else encoder
            return load_encoder(source, config.pooling, config.max_tokens, torch_device)

    with timing.stage("views"):
        rng = np.random.default_rng(random_state)
        # A generator of its own, as in training: the same seed makes the same versions.
        first, second = pair.prepare(AugmenterResources(load, torch_device, timing.advance), rng.spawn(1)[0]).draw(rng)
    return data.expand_list(first), data.expand_list(second)


def augment_file(
    path: str,
    out: Path,
    views: str,
    *,
    text_column: str | Sequence[str] | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
    seed: int = 0,
    encoder: str | None = None,
    device: str = "auto",
    listener: Listener | None = None,
) -> pd.DataFrame:
    """Write a file again with two augmented versions of each text in the columns `VIEW_COLUMNS`.

    Parameters
    ----------
    path : str
        The file, or "-" for standard input.
    out : Path
        The file to write, in the format of its name; plain text cannot hold columns.
    views : str
        A view specification.
    text_column : str or sequence of str, optional
        The column of texts, or several whose texts are joined by line breaks; by default the only column that can be
        it.
    format, encoding : str
        Format (by default by the name of the file) and encoding of the file that is read.
    sheet : str, optional
        The sheet of a workbook, by its name or its number from 1; by default the first one.
    seed : int
        Seed of the augmentation.
    encoder : str, optional
        The Sentence-Transformers model that some views need; by default as in clustering.
    device : str
        The device of the encoder.
    listener : callable, optional
        Called with (stage, done, total).

    Returns
    -------
    DataFrame
        The texts and their two versions, in the columns `text` and `VIEW_COLUMNS`.
    """
    methods = {step.method for spec in parse_view_specs(views) for step in spec}
    if "cutoff" in methods or methods <= set(ENCODER_METHODS):
        raise _no_text_error(views)
    check_encoder_source(encoder)
    in_format, out_format = detect_format(path, format), detect_format(str(out))
    if str(out) == STANDARD_OUTPUT or out_format in ("txt", "txt.gz"):
        raise InputError(f"{out} cannot hold columns; write csv, tsv, json, jsonl, parquet or xlsx")
    check_output(out, out_format)
    check_distinct_files(path, out)
    table = read_table(path, in_format, encoding, sheet)
    column = find_text_columns(table, to_text_column(text_column))
    for name in VIEW_COLUMNS:
        if name in table.columns:
            raise InputError(f"the input already has a column {name!r}; rename or remove it first")
    texts = extract_texts(table, column)
    _find_texts(texts)
    if listener:
        listener("load", 0, 0)
    first, second = augment(texts, views, random_state=seed, encoder=encoder, device=device, progress=listener)
    columns = dict(zip(("text", *VIEW_COLUMNS), (texts, first, second), strict=True))
    augmented = pd.DataFrame(columns, index=table.index)
    with open_table_writer(out, out_format) as write:
        write(pd.concat([table, augmented[list(VIEW_COLUMNS)]], axis=1))
    return augmented


def _find_texts(texts: list[str | None]) -> NonEmptyTexts:
    """Return the rows that hold a text, of which there has to be one."""
    data = NonEmptyTexts.from_list(texts)
    if not data.texts:
        raise InputError("there are no texts to augment")
    return data


def _no_text_error(views: object) -> InputError:
    return InputError(f"views={views!r} are made inside the encoder during training, so there is no text to write")
