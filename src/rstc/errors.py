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

    def __init__(self, found: int, asked: int) -> None:
        self.found = found
        super().__init__(
            f"only {found} of {asked} clusters hold a text; a larger eps2 keeps more of them, a smaller number of "
            "clusters may fit the data better"
        )


class CacheWarning(RstcWarning):
    """What the frozen layers gave could not all be kept; the run goes on, more slowly."""

    def __init__(self, folder: str, kept: int, problem: str) -> None:
        super().__init__(
            f"{folder} has no room for more than {kept / 1e9:.1f} GB of what the frozen layers gave ({problem}); the "
            "rest is computed each time, unless TMPDIR names a larger disk or cache_mb allows more memory"
        )


def first_line(problem: Exception) -> str:
    """Return what a library says is wrong, short enough for a sentence of ours.

    >>> first_line(ValueError("no such file\\nand much more")), first_line(KeyError())
    ('no such file', 'KeyError')
    """
    lines = str(problem).strip().splitlines()
    return lines[0] if lines else type(problem).__name__
