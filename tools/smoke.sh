#!/usr/bin/env bash
# Build the wheel and the source distribution, install each into an empty environment, and use it there.
# Usage: tools/smoke.sh PYTHON BIN, where BIN holds the development tools.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1 bin=$2 root=$PWD
rm -rf build/lib build/smoke dist/*.whl dist/*.tar.gz
"$bin/python" -m build --outdir dist >/dev/null
for package in dist/*.whl dist/*.tar.gz; do
    rm -rf build/smoke
    "$python" -m venv build/smoke
    build/smoke/bin/pip install --quiet "$(grep '^torch==' constraints.txt)"
    build/smoke/bin/pip install --quiet "$package" --constraint constraints.txt
    ( # from a folder of its own, so that nothing of the checkout is imported
        cd build/smoke
        bin/python "$root/tools/smoke.py"
        bin/rstc demo --out demo --overwrite >/dev/null
        # Rows that have a cluster already are refused.
        if bin/rstc predict demo demo/clusters.csv --text-column text --out again.csv 2>/dev/null; then exit 1; fi
        printf 'where is my parcel\ncancel my subscription\n' >new.txt
        bin/rstc predict demo new.txt --out labelled.txt >/dev/null
        test "$(wc -l <labelled.txt)" = 2
        test -s demo/report.html
    )
    echo "$package installs and works"
done
