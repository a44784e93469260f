"""The exception and the warnings of the package; each message is one sentence that names the value."""

from __future__ import annotations

from collections.abc import Mapping


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


def first_line(error: Exception) -> str:
    """Return the first line of an exception's message, or the name of its type if the message is empty.

    >>> first_line(ValueError("no such file\\nand much more")), first_line(KeyError())
    ('no such file', 'KeyError')
    """
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
