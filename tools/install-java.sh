#!/usr/bin/env bash
# Java for the Spark tests, from the system's packages, where it is missing.
set -euo pipefail
if command -v java > /dev/null || [ -x "${JAVA_HOME:-}/bin/java" ]; then
    exit 0
fi
skipped() {
    echo "note: $1; the Spark tests are skipped where Java is missing" >&2
    exit 0
}
command -v apt-get > /dev/null || skipped "there is no apt-get here"
as_root=()
if [ "$(id -u)" != 0 ]; then
    sudo --non-interactive true 2> /dev/null || skipped "installing Java needs root"
    as_root=(sudo --non-interactive)
fi
"${as_root[@]}" apt-get update --quiet=2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install --quiet=2 --yes --no-install-recommends default-jre-headless > /dev/null || skipped "apt-get could not install it"
