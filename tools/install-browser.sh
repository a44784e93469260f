#!/usr/bin/env bash
# Chromium and its driver for the browser tests, from the system's packages, where they are missing.
set -euo pipefail
if command -v chromedriver > /dev/null && { command -v chromium || command -v google-chrome; } > /dev/null; then
    exit 0
fi
skipped() {
    echo "note: $1; the browser tests are skipped where Chromium and chromedriver are missing" >&2
    exit 0
}
command -v apt-get > /dev/null || skipped "there is no apt-get here"
as_root=()
if [ "$(id -u)" != 0 ]; then
    sudo --non-interactive true 2> /dev/null || skipped "installing a browser needs root"
    as_root=(sudo --non-interactive)
fi
"${as_root[@]}" apt-get update --quiet=2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install --quiet=2 --yes --no-install-recommends chromium chromium-driver > /dev/null || skipped "apt-get could not install them"
