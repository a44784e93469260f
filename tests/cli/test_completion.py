"""What the Tab key proposes, asked as a shell asks: in a real process, by environment variables."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from fork_server import run_rstc
from rstc.cli.completion import FORMATS, complete_setting, read_header
from rstc.io import formats
from rstc.results.periods import EVERY

COLUMNS = ["id", "text", "Topic of it"]


def complete(line: str, cwd: Path) -> list[str]:
    """Return what is proposed at the end of a line, as bash asks for it."""
    words = line.split(" ")
    environment = {"_RSTC_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = run_rstc(cwd=cwd, environment=environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.removesuffix("\n").split("\n") if done.stdout.strip() else []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pd.DataFrame([[1, "a", "b"]], columns=COLUMNS).to_csv(tmp_path / "in.csv", index=False)
    return tmp_path


def test_commands_and_options_are_proposed(folder: Path) -> None:
    assert complete("rstc cl", folder) == ["cluster"]
    assert complete("rstc benchmark ta", folder) == ["table"]
    assert complete("rstc info --js", folder) == ["--json"]


def test_columns_of_the_given_file_are_proposed(folder: Path) -> None:
    assert complete("rstc cluster in.csv --text-column ", folder) == COLUMNS
    assert complete("rstc cluster in.csv --text-column te", folder) == ["text"]
    assert complete("rstc cluster in.csv -k 3 --out run --time ", folder) == COLUMNS
    assert complete("rstc evaluate in.csv --truth T", folder) == ["Topic of it"]
    assert complete("rstc cluster none.csv --text-column ", folder) == []
    assert complete("rstc cluster - --text-column ", folder) == []


def test_columns_of_a_run_are_proposed(run_folder: Path, tmp_path: Path) -> None:
    assert "topic" in complete(f"rstc compare {run_folder} --by ", tmp_path)


def test_settings_and_their_values_are_proposed(folder: Path) -> None:
    assert complete("rstc cluster in.csv --set batch", folder) == ["batch_size="]
    values = ["training=always", "training=auto", "training=never"]
    assert sorted(complete("rstc cluster in.csv --set training=", folder)) == values
    assert complete("rstc settings eps", folder) == ["eps1", "eps2"]
    assert [value for value, _ in complete_setting("swaps=")] == ["swaps=true", "swaps=false"]
    assert [value for value, _ in complete_setting("imbalance=h")] == ["imbalance=heavy"]
    assert complete_setting("nothing=") == []


def test_choices_are_proposed(folder: Path) -> None:
    assert complete("rstc cluster in.csv --format csv", folder) == ["csv", "csv.gz"]
    assert complete("rstc cluster in.csv --preset ", folder) == ["default", "paper"]
    assert complete("rstc cluster in.csv --every ", folder) == list(EVERY)
    assert complete("rstc detail run f", folder) == ["fine"]
    assert set(FORMATS) == set(formats.FORMATS)


def test_headers_of_all_formats_are_read(tmp_path: Path) -> None:
    table = pd.DataFrame([[1, "a", "b"]] * 3, columns=COLUMNS)
    table.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    table.to_csv(tmp_path / "semicolons.csv", index=False, sep=";", encoding="utf-8-sig")
    table.to_csv(tmp_path / "a.csv.gz", index=False)
    table.to_csv(tmp_path / "wide.csv", index=False, encoding="utf-16")
    table.to_json(tmp_path / "a.json", orient="records")
    table.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    table.to_parquet(tmp_path / "a.parquet")
    table.to_excel(tmp_path / "a.xlsx", index=False)
    (tmp_path / "a.txt").write_text("where is it\n")
    found = {path.name: read_header(str(path)) for path in tmp_path.iterdir()}
    assert found.pop("a.txt") == []
    assert found == dict.fromkeys(found, COLUMNS)
    shutil.copy(tmp_path / "a.tsv", tmp_path / "data")
    assert read_header(str(tmp_path / "data"), "tsv") == COLUMNS


def test_a_damaged_file_proposes_nothing(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,b\n")[:-9])
    (tmp_path / "a.jsonl").write_text("{")
    (tmp_path / "a.json").write_text("[" * 10_000)
    (tmp_path / "many.jsonl").write_text(json.dumps({"a": "x" * 2**17}))
    for name in ("a.parquet", "a.csv.gz", "a.jsonl", "a.json", "many.jsonl", "none.csv"):
        assert read_header(str(tmp_path / name)) == [], name
    (tmp_path / "control.csv").write_text('a,"b\nc",\x1b[31m\n')
    assert complete("rstc cluster control.csv --text-column ", folder) == ["a"]


def test_completion_imports_neither_torch_nor_pandas(folder: Path) -> None:
    code = (
        "import sys\nfrom rstc.cli import main\nsys.argv = ['rstc']\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'pandas', 'sklearn', 'pyarrow'} & set(sys.modules)\nassert not heavy, heavy\n"
    )
    line = "rstc cluster in.csv --text-column "
    environment = {"_RSTC_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": "4"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == COLUMNS


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_script_that_bash_sources_completes(folder: Path) -> None:
    program = folder / "bin" / "rstc"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom rstc.cli import main\nmain()\n")
    program.chmod(0o755)
    script = f"""
PATH="{program.parent}:$PATH"
source <(_RSTC_COMPLETE=source_bash rstc)
COMP_WORDS=(rstc cluster in.csv --text-column t); COMP_CWORD=4
_rstc_completion rstc
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["text"], done.stderr
