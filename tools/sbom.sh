#!/usr/bin/env bash
# List what an installed rstc consists of: dist/rstc.cdx.json, in CycloneDX.
# Usage: tools/sbom.sh PYTHON BIN, where BIN holds cyclonedx-py.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1 bin=$2
rm -rf build/sbom
"$python" -m venv build/sbom
build/sbom/bin/python tools/install.py --package .
mkdir -p dist
"$bin/cyclonedx-py" environment build/sbom/bin/python --pyproject pyproject.toml --mc-type library \
    --output-reproducible --output-format JSON --output-file dist/rstc.cdx.json
echo "dist/rstc.cdx.json lists $(grep -c '"bom-ref"' dist/rstc.cdx.json) parts"
