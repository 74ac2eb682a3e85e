#!/bin/sh
# fuzz.sh FOLDER [SECONDS]: builds the fuzzer into FOLDER and runs each target (those in FUZZ_TARGETS, or all) for SECONDS (60)
# on a corpus of its own that is kept there. Ends with the first finding.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mkdir -p "$1" && cd "$1" && pwd)
seconds=${2:-60}
targets="json plist bplist xml cbor transcode convert"
cd "$here/../.."
swift build -c release -j 2 --product WireFormatFuzzing --scratch-path "$folder/build" \
    -Xswiftc -sanitize=fuzzer,address -Xswiftc -parse-as-library
products=$(swift build -c release --scratch-path "$folder/build" --show-bin-path)
swiftc -sanitize=fuzzer,address -o "$folder/fuzz" "$products/libWireFormatFuzzing.a"
export SWIFT_BACKTRACE=enable=no
python3 -B "$here/seeds.py" "$folder/corpus"
for target in ${FUZZ_TARGETS:-$targets}; do
    echo "fuzzing $target for $seconds s"
    PORTICO_FUZZ=$target "$folder/fuzz" -max_total_time="$seconds" -max_len=2048 -timeout=5 -rss_limit_mb=1024 \
        -artifact_prefix="$folder/$target-" "$folder/corpus/$target" >"$folder/$target.log" 2>&1 || {
        tail -40 "$folder/$target.log"
        exit 1
    }
    tail -1 "$folder/$target.log"
done
