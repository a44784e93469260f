"""Write the README's results table and demo screen from what is committed.

python benchmarks/tables.py          rewrite them
python benchmarks/tables.py --check  say whether they are stale
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def results_table() -> str:
    rows = json.loads((RESULTS / "against_kmeans.json").read_text())["rows"]
    lines = [
        "| set | texts | clusters | views | k-means ACC / NMI | rstc ACC / NMI | rstc clusters | rstc seconds |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        kmeans, ours = row["kmeans"], row["rstc"]
        lines.append(
            f"| {row['set']} | {row['texts']:,} | {row['asked_clusters']} | {row['views']} | "
            f"{kmeans['acc']:.1f} / {kmeans['nmi']:.1f} | {ours['acc']:.1f} / {ours['nmi']:.1f} | "
            f"{ours['clusters']} | {ours['seconds']:.0f} |"
        )
    return "\n".join(lines)


def demo_screen() -> str:
    return f"```text\n{(RESULTS / 'demo.txt').read_text().rstrip()}\n```"


def filled(text: str) -> str:
    for name, content in {"results": results_table(), "demo": demo_screen()}.items():
        pattern = rf"(<!-- {name}:start -->).*?(<!-- {name}:end -->)"
        text = re.sub(pattern, lambda marks, c=content: f"{marks[1]}\n{c}\n{marks[2]}", text, flags=re.DOTALL)
    return text


def main() -> None:
    readme = ROOT / "README.md"
    before = readme.read_text(encoding="utf-8")
    after = filled(before)
    if "--check" in sys.argv:
        sys.exit("README.md is stale: run python benchmarks/tables.py" if before != after else 0)
    readme.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
