"""ACC and NMI of the default with texts truncated to 32 tokens, and to the limit that is chosen by their lengths.

    python benchmarks/max_tokens.py --data DIR [--seeds 3] [--datasets agnews,...] [--limits 32,auto]

Random samples of 1,000 texts. The sets are those of the suite some of whose texts are longer than 32 tokens in more
than 5 % of the cases; on the others "auto" is 32. The limit was chosen on half A (agnews); half B was looked at when it
was chosen. Confidence, which does not change the clusters, is not estimated. Rows are written to
results/max_tokens.json; rows that are present are skipped.
"""

from __future__ import annotations

import time
import warnings

from measuring import ResultFile, make_parser, score
from rstc import RSTC
from suite import HALVES, read_set, sample_rows

DATASETS = ["agnews", "searchsnippets", "biomedical", "googlenews-ts", "googlenews-s"]


def main() -> None:
    parser = make_parser(__doc__, datasets=DATASETS, seeds=3)
    parser.add_argument("--limits", type=lambda limits: limits.split(","), default=["32", "auto"], metavar="A,B")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    results = ResultFile("max_tokens", ("dataset", "limit", "seed"))
    for name in options.datasets:
        table = read_set(options.data, name)
        for seed in range(options.seeds):
            rows = sample_rows(table["label"].to_numpy(), "1000", seed)
            texts, labels = table["text"][rows].tolist(), table["label"][rows].tolist()
            for limit in options.limits:
                key = {"dataset": name, "limit": limit, "seed": seed}
                if results.has(**key):
                    continue
                max_tokens = "auto" if limit == "auto" else int(limit)
                model = RSTC(len(set(labels)), random_state=seed, max_tokens=max_tokens, repeats=0)
                start = time.process_time()
                model.fit(texts)
                results.add(
                    key
                    | {"half": "A" if name in HALVES["A"] else "B", "max_tokens": model.config_.max_tokens}
                    | {"truncated": round(model.truncated_share_, 4), "texts": len(texts)}
                    | score(labels, model.labels_)
                    | {"processor_seconds": round(time.process_time() - start, 1)}
                    | {"encoding_seconds": round(model.seconds_["encode"], 1)}
                )


if __name__ == "__main__":
    main()
