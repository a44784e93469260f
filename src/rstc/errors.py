"""The exception and the warnings of the package; each message is one sentence that names the value."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping


class InputError(ValueError):
    """Raised when an input of the user is invalid: a file, a column, a setting, a folder.

    Attributes
    ----------
    code : str
        Names the kind of error for programs; the command line documents the codes.
    """

    code = "invalid_input"


class MissingExtraError(InputError):
    """Raised when an optional dependency is not installed; the message says how to install it."""

    code = "missing_extra"


class ResourceLimitError(InputError):
    """Raised when a run needs more memory than is free or allowed."""

    code = "resource_limit"


class RstcWarning(UserWarning):
    """Base class of the warnings of this package."""


class TransportWarning(RstcWarning):
    """Warns that a transport problem did not converge.

    Parameters
    ----------
    residual : float
        Violation of the constraints after the last iteration.
    tol : float
        The residual at which the solver would have stopped.
    iterations : int
        Number of iterations.
    """

    def __init__(self, residual: float, tol: float, iterations: int) -> None:
        self.residual = residual
        super().__init__(
            f"the transport did not converge: residual {residual:.2g} after {iterations} iterations, tol={tol:.2g}"
        )


class MissingTextWarning(RstcWarning):
    """Warns that some rows hold no text.

    Parameters
    ----------
    missing, total : int
        Number of rows without a text, and of all rows.
    """

    def __init__(self, missing: int, total: int) -> None:
        self.missing = missing
        super().__init__(f"{missing} of {total} rows hold no text and get no cluster")


class FileWarning(RstcWarning):
    """Warns that something in a file was read in one of several ways that it may have been meant."""


class MixedPredictionsWarning(RstcWarning):
    """Warns that a folder holds predictions of another model or of other options.

    Parameters
    ----------
    folder : str
        The folder.
    n_files : int
        Number of these files.
    """

    def __init__(self, folder: str, n_files: int) -> None:
        files = "1 other file" if n_files == 1 else f"{n_files:,} other files"
        super().__init__(f"{folder} also holds {files} that another model or other options predicted")


class CollapseWarning(RstcWarning):
    """Warns that many of the requested clusters are empty.

    Parameters
    ----------
    found, requested : int
        Number of clusters that hold a text, and of the requested clusters.
    eps2 : float or str
        The setting `eps2`.
    start : str
        The setting `start`.
    """

    def __init__(self, found: int, requested: int, eps2: float | str, start: str) -> None:
        self.found = found
        super().__init__(
            f"only {found} of {requested} clusters hold a text; a larger eps2 (now {eps2}) keeps more of them, another "
            f"start (now {start}) may find others, and a smaller n_clusters may fit the data better"
        )


class CacheWarning(RstcWarning):
    """Warns that the cache of hidden states is full; the run continues, but more slowly.

    Parameters
    ----------
    folder : str
        Folder of the cache.
    cached : int
        Number of bytes in it.
    reason : str
        Why it cannot hold more.
    """

    def __init__(self, folder: str, cached: int, reason: str) -> None:
        super().__init__(
            f"{folder} has no room for more than {cached / 1e9:.1f} GB of cached hidden states ({reason}); the others "
            "are computed again at each use; set TMPDIR to a larger disk, or raise cache_mb"
        )


class UnusedSettingWarning(RstcWarning):
    """Warns that settings of the training have no effect, because the encoder is not trained.

    Parameters
    ----------
    names : list of str
        The settings.
    training : str
        The setting `training`.
    """

    def __init__(self, names: list[str], training: str) -> None:
        super().__init__(
            f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} no effect with training={training}, which does "
            "not train the encoder; training=always does"
        )


class LevelWarning(RstcWarning):
    """Warns that the result has no such level of detail, and that the medium one was taken.

    Parameters
    ----------
    detail : str
        The level.
    n_clusters : int
        The number of clusters of the medium level.
    """

    def __init__(self, detail: str, n_clusters: int) -> None:
        reason = {
            "coarse": "are too few to be merged",
            "fine": "do not divide into sub-clusters that are found again in halves of their texts",
        }
        super().__init__(f"there is no {detail} level: the {n_clusters} clusters {reason[detail]}")


class CheckpointWarning(RstcWarning):
    """Warns that a checkpoint could not be written or read."""


class ForeignSettingWarning(RstcWarning):
    """Warns that a setting of a saved model is not used, because it would open something outside of its folder.

    Parameters
    ----------
    model : str
        Name of the model's folder.
    setting : str
        The setting and its value.
    value : str
        The value that takes its place.
    """

    def __init__(self, model: str, setting: str, value: str) -> None:
        super().__init__(
            f"the model in {model} was saved with {setting[:100]!r}, which names a model outside of its folder; an "
            f"update takes {value!r} instead"
        )


class ModelVersionWarning(RstcWarning):
    """Warns that a model was made with other versions of the libraries that compute its embeddings.

    Parameters
    ----------
    model : str
        Name of the model's folder.
    made_with : mapping
        From the name of a package to the version that the model was made with.
    versions : mapping
        From the name of a package to the version that is installed.
    """

    def __init__(self, model: str, made_with: Mapping[str, str], versions: Mapping[str, str]) -> None:
        changes = ", ".join(f"{name} {str(made)[:40]!r} (now {versions[name]})" for name, made in made_with.items())
        super().__init__(f"the model in {model} was made with {changes}; its predictions may differ slightly")


class UncorrectedModelWarning(RstcWarning):
    """Warns that corrections were made without torch, so that the model of a run does not know them.

    Parameters
    ----------
    folder : str
        The run folder.
    """

    def __init__(self, folder: str) -> None:
        super().__init__(
            f"torch is not installed, so the model was not changed; `rstc apply {folder}` where it is installed makes "
            "it predict the corrected clusters, and until then the run has no model to predict with"
        )


class RetryWarning(RstcWarning):
    """Warns that the loss was not finite, and training returned to a checkpoint with lower learning rates.

    Parameters
    ----------
    step : int
        Step at which the loss was not finite.
    restart_step : int
        Step of the checkpoint.
    factor : float
        Factor that the learning rates are multiplied by.
    """

    def __init__(self, step: int, restart_step: int, factor: float) -> None:
        super().__init__(
            f"the loss was not a finite number at step {step}; training returned to step {restart_step} and continues "
            f"with learning rates {factor:g} times as large"
        )


# Libraries report what the system refused in errors of their own, of which only the words are left.
_OS_ERROR = re.compile(r"\(os error (\d+)\)|\[Errno (\d+)\]")
_NO_MEMORY = re.compile(
    "allocate memory|allocation failed|bad_alloc|not enough memory|out of memory|failed to map segment|"
    "can't start new thread|resource temporarily unavailable|failed to create thread|MemoryError",
    re.IGNORECASE,
)
_WORDS = {
    errno.ENOSPC: "No space left on device",
    errno.EFBIG: "File too large",
    errno.EMFILE: "Too many open files",
    errno.EDQUOT: "Disk quota exceeded",
    errno.EROFS: "Read-only file system",
}
_ADVICE = {
    errno.ENOSPC: "free some space, or set TMPDIR to a larger disk",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "raise the limit on open files (ulimit -n)",
}


# What trains, and what opens a model folder, needs all of them; they are dependencies, but large ones.
TORCH_PACKAGES = ("torch", "transformers", "sentence_transformers")


def find_missing_torch(error: BaseException) -> MissingExtraError | None:
    """Return a sentence on the library that an import failed for, if it is torch or one of those that come with it.

    >>> find_missing_torch(ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn"))
    MissingExtraError('torch is not installed, and this needs it: pip install torch sentence-transformers')
    >>> find_missing_torch(ModuleNotFoundError("No module named 'numpy'", name="numpy"))
    """
    for cause in _iter_causes(error):
        if isinstance(cause, InputError):
            return None
        package = str(getattr(cause, "name", "")).partition(".")[0].replace("-", "_")
        if isinstance(cause, ModuleNotFoundError) and package in TORCH_PACKAGES:
            name = package.replace("_", "-")
            needed = "pip install torch sentence-transformers"
            return MissingExtraError(f"{name} is not installed, and this needs it: {needed}")
    return None


def find_system_error(error: BaseException) -> OSError | MemoryError | None:
    """Return what the system refused, which an error is or was caused by; None if it was nothing.

    >>> find_system_error(RuntimeError("I/O error: File too large (os error 27)"))
    OSError(27, 'File too large')
    >>> find_system_error(RuntimeError("std::bad_alloc")), find_system_error(RuntimeError("shapes differ"))
    (MemoryError('std::bad_alloc'), None)
    """
    for cause in _iter_causes(error):
        if isinstance(cause, InputError):
            continue
        if isinstance(cause, MemoryError) or (isinstance(cause, OSError) and cause.errno == errno.ENOMEM):
            return cause if isinstance(cause, MemoryError) else MemoryError(first_line(cause))
        if isinstance(cause, OSError) and cause.errno is not None:
            return cause
        message = str(cause)
        if match := _OS_ERROR.search(message):
            number = int(match[1] or match[2])
            return MemoryError(first_line(cause)) if number == errno.ENOMEM else OSError(number, os.strerror(number))
        for number, words in _WORDS.items():
            if words in message:
                return OSError(number, words)
        if _NO_MEMORY.search(message):
            return MemoryError(first_line(cause))
    return None


def describe_system_error(error: BaseException) -> str | None:
    """Return a sentence on what the system refused; None if an error has nothing to do with it."""
    problem = find_system_error(error)
    if isinstance(problem, MemoryError):
        detail = f" ({first_line(problem)[:100]})" if str(problem) else ""
        return (
            f"there is not enough memory{detail}; close other programs, lower max_fit_texts or batch_size, or raise "
            "the limit of the process (ulimit -v)"
        )
    if problem is None:
        return None
    name = f"{problem.filename}: " if isinstance(problem.filename, str) else ""
    advice = _ADVICE.get(problem.errno or 0)
    return f"{name}{problem.strerror}{f'; {advice}' if advice else ''}"


def _iter_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those that led to it."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message, or the name of its type if the message is empty.

    >>> first_line(ValueError("no such file\\nand much more")), first_line(KeyError())
    ('no such file', 'KeyError')
    """
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
