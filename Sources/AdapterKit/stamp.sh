#!/bin/sh
# Writes the hash of AdapterKit's sources into CAdapterKitStamp/SDKHash.h; with --check it only reports whether the hash
# there is the right one (exit 0 or 1). Run it after every change of AdapterKit, before the commit.
#
# The hash covers the path and the bytes of every file that plugins are compiled against, comments included: telling
# harmless changes from harmful ones would need a compiler, and a plugin is rebuilt in seconds.
set -eu
export LC_ALL=C

cd "$(dirname "$0")"
header=CAdapterKitStamp/SDKHash.h
hash=$(
    find Package.swift AdapterKit ValueTree CAdapterKitStamp -type f ! -path "$header" \
        \( -name '*.swift' -o -name '*.h' -o -name '*.modulemap' \) | sort | xargs sha256sum | sha256sum | cut -d' ' -f1
)
line="#define ADAPTERKIT_SDK_HASH \"$hash\""

if grep -qxF "$line" "$header" 2>/dev/null; then exit 0; fi
if [ "${1:-}" = --check ]; then
    echo "$header is stale: AdapterKit's sources have changed. Run Sources/AdapterKit/stamp.sh" >&2
    exit 1
fi
printf '// Written by stamp.sh; do not edit. On a merge conflict here, run it again.\n%s\n' "$line" >"$header"
