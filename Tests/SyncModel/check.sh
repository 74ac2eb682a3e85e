#!/usr/bin/env bash
# Looks at every state of sync.pml for broken assertions, dead ends and outboxes that never drain; then breaks one rule
# after the other and demands that the checker finds it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

check() { # name, options of the model, options of pan: leaves pan's report in report
    spin -a ${2:+-D$2} "$here/sync.pml" >spin.log || { cat spin.log; exit 1; }
    ${CC:-clang} -O2 -w -DMEMLIM=3000 -DVECTORSZ=2048 ${4:-} -o pan pan.c
    ./pan -m1000000 $3 >report
    errors=$(sed -nE 's/.*errors: ([0-9]+).*/\1/p' report)
    echo "$1: $errors errors, $(sed -nE 's/ *([0-9.e+]+) states, stored.*/\1/p' report | head -1) states"
    ! grep -q "max search depth too small\|MEMLIM\|out of memory\|warning: .* truncated" report || { echo "not exhaustive"; exit 1; }
}

check "assertions and dead ends" "" "-noclaim" -DNOCLAIM=1
((errors == 0)) || { cat report; exit 1; }
check "every outbox drains" "" "-a -f"
((errors == 0)) || { cat report; exit 1; }
for rule in WITHOUT_OUTCOME WITHOUT_LAST_OUTCOME WITHOUT_FLOOR WITHOUT_CURSOR; do
    check "$rule" $rule "-noclaim" -DNOCLAIM=1
    ((errors > 0)) || { echo "the checker does not find a broken rule, so it proves nothing"; exit 1; }
done
