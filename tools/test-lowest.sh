#!/usr/bin/env bash
# Install the lowest versions that pyproject.toml allows, and run the tests of what depends on them most.
# Usage: tools/test-lowest.sh PYTHON
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
rm -rf build/lowest
"$python" -m venv build/lowest
build/lowest/bin/python tools/install.py --lowest excel figures large onnx
grep -E '^(hypothesis|pytest|pytest-socket|pytest-timeout|pytest-xdist)==' constraints.txt >build/lowest/tests.txt
build/lowest/bin/pip install --quiet --requirement build/lowest/tests.txt
build/lowest/bin/pip check
build/lowest/bin/pytest tests/cli tests/io tests/persistence tests/report tests/representation tests/results tests/validation \
    tests/pipelines/test_cluster.py tests/pipelines/test_predict.py tests/pipelines/test_workbook.py tests/test_estimator.py
