"""ACC, NMI and time of the default by the number of trained encoder layers.

    python benchmarks/trainable_layers.py --data DIR [--sets stackoverflow ...] [--layers 0 1 2 all] [--seed 0]

All other settings are the default's. The seed gives every number of layers the same initial labels. `passes` is the
time of the whole run, with loading the encoder, in units of one encoding of all texts in the same process. Rows are
written to results/trainable_layers.json; rows that are present are skipped.
"""

from __future__ import annotations

from measuring import ResultFile, default_encoder, embed, make_parser, measure_time, score
from rstc.benchmark.datasets import read_table
from rstc.config import make_config
from rstc.estimator import RSTC

DATASETS = ["stackoverflow", "agnews", "tweet", "googlenews-t"]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=DATASETS, help="names of data sets")
    parser.add_argument("--layers", nargs="+", default=["0", "1", "2", "all"], help="numbers of layers")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    config = make_config().to_dict()
    results = ResultFile("trainable_layers", key=("set", "layers", "seed"), config=config, seed=options.seed)
    for name in options.sets:
        table = read_table(name, options.data)
        texts, one_pass = table.text.tolist(), 0.0
        for layers in options.layers:
            row = {"set": name, "texts": len(texts), "layers": layers, "seed": options.seed}
            if results.has(**row):
                continue
            if not one_pass:
                encoder = default_encoder()
                _, one_pass = measure_time(lambda encoder=encoder, texts=texts: embed(texts, encoder))
            n_layers = layers if layers == "all" else int(layers)
            model = RSTC(table.label.nunique(), trainable_layers=n_layers, random_state=options.seed)
            _, seconds = measure_time(lambda model=model, texts=texts: model.fit(texts))
            row |= score(table.label, model.labels_) | {"steps": model.n_iter_}
            results.add(row | {"seconds": round(seconds, 1), "passes": round(seconds / one_pass, 2)})


if __name__ == "__main__":
    main()
