"""What can go wrong, as types that a caller can catch; each message is one sentence that names the value."""

from __future__ import annotations


class InputError(ValueError):
    """Something the user gave cannot be used as it is: a file, a column, a setting, a folder."""


class RstcWarning(UserWarning):
    """A result was made, and there is something to know about it."""


class TransportWarning(RstcWarning):
    """A transport problem was left before its constraints were met."""

    def __init__(self, residual: float, tol: float, iterations: int) -> None:
        self.residual = residual
        super().__init__(
            f"the transport did not converge: residual {residual:.2g} after {iterations} steps, asked for {tol:.2g}"
        )


class MissingTextWarning(RstcWarning):
    """Some rows hold no text; they stay without a cluster."""

    def __init__(self, missing: int, total: int) -> None:
        self.missing = missing
        super().__init__(f"{missing} of {total} rows hold no text and get no cluster")


class CollapseWarning(RstcWarning):
    """Many of the clusters that were asked for ended up empty."""

    def __init__(self, found: int, asked: int, eps2: float | str, start: str) -> None:
        self.found = found
        super().__init__(
            f"only {found} of {asked} clusters hold a text; a larger eps2 (now {eps2}) keeps more of them, another "
            f"start (now {start}) finds others, and a smaller number of clusters may fit the data better"
        )


class CacheWarning(RstcWarning):
    """What the frozen layers gave could not all be kept; the run goes on, more slowly."""

    def __init__(self, folder: str, kept: int, problem: str) -> None:
        super().__init__(
            f"{folder} has no room for more than {kept / 1e9:.1f} GB of what the frozen layers gave ({problem}); the "
            "rest is computed each time, unless TMPDIR names a larger disk or cache_mb allows more memory"
        )


class CheckpointWarning(RstcWarning):
    """Where a run is could not be kept, or what was kept of it cannot be read."""


class RetryWarning(RstcWarning):
    """Training left the finite numbers and was taken up again with smaller steps."""

    def __init__(self, step: int, again_from: int, factor: float) -> None:
        super().__init__(
            f"the loss was not a finite number at step {step}; training went back to step {again_from} and goes on "
            f"with learning rates {factor:g} times as large"
        )


def first_line(problem: Exception) -> str:
    """Return what a library says is wrong, short enough for a sentence of ours.

    >>> first_line(ValueError("no such file\\nand much more")), first_line(KeyError())
    ('no such file', 'KeyError')
    """
    lines = str(problem).strip().splitlines()
    return lines[0] if lines else type(problem).__name__
