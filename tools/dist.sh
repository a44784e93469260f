#!/usr/bin/env bash
# Build the wheel and the source distribution into dist/, and check their metadata and contents.
# Usage: tools/dist.sh BIN, where BIN holds the tools of the extra `release`.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$1
rm -rf build/lib dist/*.whl dist/*.tar.gz
# `build` makes an environment of its own; pip takes the exact versions, by hash, from the variable.
PIP_CONSTRAINT=$PWD/build-constraints.txt "$bin/python" -m build --outdir dist >/dev/null
"$bin/twine" check --strict dist/*.whl dist/*.tar.gz
"$bin/check-wheel-contents" dist/*.whl
