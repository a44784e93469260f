"""The HTTP interface against its own OpenAPI document: schemathesis sends requests that fit it and that do not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from running_service import run_service

EXAMPLES = os.environ.get("RSTC_API_EXAMPLES", "50")  # for each operation


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_answers_are_those_that_the_document_describes(exported: Path, tmp_path: Path) -> None:
    with run_service(exported, tmp_path, "--max-texts", "20", "--max-chars", "500") as service:
        address = f"http://127.0.0.1:{service.port}/openapi.json"
        program = Path(sys.executable).with_name("schemathesis")
        command = [str(program), "run", address, "--max-examples", EXAMPLES, "--seed", "0", "--checks", "all"]
        done = subprocess.run(
            [*command, "--no-color"],
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]
        assert service.predict(["late"]).status == 200
        assert "could not be predicted" not in service.log.read_text()
