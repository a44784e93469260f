"""Another encoder: python examples/own_encoder.py [FOLDER_OR_HUB_NAME].

Any Sentence-Transformers model can be used, given as a folder, a hub name or an object: for your language or domain.
"""

from __future__ import annotations

import sys

from sentence_transformers import SentenceTransformer

from rstc import RSTC
from rstc.representation.loading import get_bundled_folder

TEXTS = ["parcel is late", "courier lost my parcel", "parcel not here yet", "reset my password", "password is wrong"]
TEXTS += ["cannot log in with my password", "refund please", "where is my refund", "no refund yet"]


def main() -> None:
    """Cluster a few texts with another encoder."""
    name = sys.argv[1] if len(sys.argv) > 1 else str(get_bundled_folder())
    encoder = SentenceTransformer(name, device="cpu")
    # "model" keeps the pooling that the encoder was trained with; one layer is trained on the texts.
    model = RSTC(3, encoder=encoder, pooling="model", training="always", random_state=0).fit(TEXTS)
    print(model.to_frame()[["cluster", "text"]].sort_values("cluster").to_string(index=False))


if __name__ == "__main__":
    main()
