"""Ways to draw the map: seconds in units of one encoding pass, and how well the map keeps the neighbours.

    pip install 'rstc[bench]'
    python benchmarks/map.py --data DIR [--sets stackoverflow:2000,stackoverflow:10000,tweet:2472]

One pass is `SentenceTransformer.encode` of the same texts with the bundled encoder. Trustworthiness (scikit-learn, 10
neighbours, cosine) is 1 if the neighbours on the map are neighbours in the embedding; it is measured on 2,000 random
texts. "Same class" is the share of the 10 nearest texts on the map that have the text's own class. UMAP and PaCMAP
compile at their first call, which is given apart. Rows are written to results/map.json, pictures to --pictures.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, trustworthiness
from sklearn.neighbors import NearestNeighbors

from measuring import ResultFile, default_encoder, embed, make_parser, measure_time
from rstc.benchmark.datasets import read_table
from rstc.results.layout import compute_layout

EVALUATED_TEXTS = 2000


def lay_out_by_tsne(E: np.ndarray) -> np.ndarray:
    return TSNE(2, init="pca", random_state=0, n_jobs=2).fit_transform(PCA(50, random_state=0).fit_transform(E))


def lay_out_by_opentsne(E: np.ndarray) -> np.ndarray:
    import openTSNE

    return np.asarray(openTSNE.TSNE(n_jobs=2, random_state=0).fit(PCA(50, random_state=0).fit_transform(E)))


def lay_out_by_umap(E: np.ndarray) -> np.ndarray:
    from umap import UMAP

    return UMAP(metric="cosine", random_state=0).fit_transform(E)


def lay_out_by_pacmap(E: np.ndarray) -> np.ndarray:
    from pacmap import PaCMAP

    return PaCMAP(random_state=0).fit_transform(E, init="pca")


METHODS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rstc": compute_layout,
    "t-SNE": lay_out_by_tsne,
    "openTSNE": lay_out_by_opentsne,
    "UMAP": lay_out_by_umap,
    "PaCMAP": lay_out_by_pacmap,
}


def rate(E: np.ndarray, layout: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Rate a map (N, 2) of embeddings (N, D)."""
    rows = np.random.default_rng(1).choice(len(E), min(EVALUATED_TEXTS, len(E)), replace=False)
    layout = np.asarray(layout, dtype=np.float64)
    nearest = NearestNeighbors(n_neighbors=11).fit(layout).kneighbors(layout[rows], return_distance=False)[:, 1:]
    return {
        "trustworthiness": round(float(trustworthiness(E[rows], layout[rows], n_neighbors=10, metric="cosine")), 3),
        "same_class": round(float((labels[nearest] == labels[rows][:, None]).mean()), 3),
    }


def draw(path: Path, layout: np.ndarray, labels: np.ndarray) -> None:
    """Draw a map with a colour for each class."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    codes = np.unique(labels, return_inverse=True)[1]
    figure, axes = pyplot.subplots(figsize=(5, 5))
    axes.scatter(*np.asarray(layout, dtype=float).T, s=2, c=codes % 20, cmap="tab20")
    axes.set_axis_off()
    figure.savefig(path, dpi=80)
    pyplot.close(figure)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--sets", default="stackoverflow:2000,stackoverflow:10000,tweet:2472", help="names and sizes")
    parser.add_argument("--methods", default=",".join(METHODS), help="names of methods")
    parser.add_argument("--pictures", type=Path, help="folder for pictures of the maps")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    results = ResultFile("map", key=("set", "texts", "method"), packages=("openTSNE", "umap-learn", "pacmap"))
    encoder = default_encoder()
    for entry in options.sets.split(","):
        name, size = entry.split(":")
        table = read_table(name, options.data)
        table = table.sample(min(int(size), len(table)), random_state=0)
        texts, labels = table.text.tolist(), table.label.astype(str).to_numpy()
        E = embed(texts, encoder)
        _, one_pass = measure_time(lambda texts=texts: encoder.model.encode(texts))
        for method in options.methods.split(","):
            if results.has(set=name, texts=len(texts), method=method):
                continue
            _, first = measure_time(lambda method=method, E=E: METHODS[method](E[:200]))
            layout, seconds = measure_time(lambda method=method, E=E: METHODS[method](E))
            row: dict[str, Any] = {"set": name, "texts": len(texts), "method": method}
            row |= {"seconds": round(seconds, 2), "passes": round(seconds / one_pass, 2)}
            results.add(row | rate(E, layout, labels) | {"first_call_seconds": round(first, 2)})
            if options.pictures:
                options.pictures.mkdir(parents=True, exist_ok=True)
                draw(options.pictures / f"{name}-{len(texts)}-{method}.png", layout, labels)


if __name__ == "__main__":
    main()
