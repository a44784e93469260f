#!/usr/bin/env bash
# Install the wheel and the source distribution of dist/, each into an empty environment, and use it there.
# Usage: tools/smoke.sh PYTHON [newest], where "newest" takes the newest dependencies, and the wheel alone.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1 versions=${2:-exact} root=$PWD
packages=(dist/*.whl)
if [ "$versions" = exact ]; then packages+=(dist/*.tar.gz); fi
for package in "${packages[@]}"; do
    rm -rf build/smoke
    "$python" -m venv build/smoke
    if [ "$versions" = exact ]; then
        build/smoke/bin/python tools/install.py --package "$package"
    else
        build/smoke/bin/pip install --quiet "$(grep '^torch==' constraints.txt)"
        build/smoke/bin/pip install --quiet "$package"
    fi
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
    echo "$package installs and works ($versions versions)"
done
