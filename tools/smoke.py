"""What an installed rstc must do and have: run in an empty environment."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import time
from importlib import metadata, resources
from pathlib import Path


def seconds(*command: str) -> float:
    """Return how long a command takes, the best of five."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Look at the metadata, the files and the time that starting takes."""
    facts = metadata.metadata("rstc")
    assert facts["License-Expression"] == "MIT", facts["License-Expression"]
    assert any("Typed" in one for one in facts.get_all("Classifier"))
    assert (resources.files("rstc") / "py.typed").is_file()
    assert (resources.files("rstc.samples") / "customer_messages.csv").is_file()
    # Seconds depend on what else the machine does, so they are told, and what costs them is what must not happen.
    imported = seconds(sys.executable, "-c", "import rstc")
    helped = seconds(str(Path(sysconfig.get_path("scripts"), "rstc")), "--help")
    print(f"import rstc: {imported:.2f} s, rstc --help: {helped:.2f} s")
    heavy = "{'torch', 'transformers', 'pandas', 'pyarrow', 'sklearn', 'scipy'}"
    for start in ("import rstc", "import rstc.cli"):
        subprocess.run(
            [sys.executable, "-c", f"import sys\n{start}\nassert not {heavy} & set(sys.modules)"], check=True
        )


if __name__ == "__main__":
    main()
