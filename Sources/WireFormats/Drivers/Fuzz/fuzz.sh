#!/bin/sh
# fuzz.sh FOLDER [SECONDS]: builds the fuzzer into FOLDER and runs it for SECONDS (60) on a corpus kept there.
set -eu
folder=$(mkdir -p "$1" && cd "$1" && pwd)
seconds=${2:-60}
cd "$(dirname "$0")/../.."
swift build -c release -j 2 --product WireFormatFuzzing --scratch-path "$folder/build" \
    -Xswiftc -sanitize=fuzzer,address -Xswiftc -parse-as-library
products=$(swift build -c release --scratch-path "$folder/build" --show-bin-path)
swiftc -sanitize=fuzzer,address -o "$folder/fuzz" "$products/libWireFormatFuzzing.a" \
    -L "$products" -lAdapterKit -Xlinker -rpath -Xlinker "$products"
mkdir -p "$folder/corpus"
export SWIFT_BACKTRACE=enable=no
# A seed for each format, made here: its number in the catalogue, then a small document.
printf '\000{"a":[1,-2.5e3,"\\u00e9",null,true,{}]}' >"$folder/corpus/json"
printf '\001<plist><dict><key>a</key><array><integer>-1</integer><real>1.5</real><string>b&amp;</string><true/><date>2001-01-01T00:00:00Z</date><data>AQI=</data></array></dict></plist>' >"$folder/corpus/plist"
printf '\002<value xmlns:v="urn:portico:value" v:type="dictionary"><a v:type="int">1</a><_ v:key="b c" v:type="array"><item>x</item></_></value>' >"$folder/corpus/typed-xml"
printf '\002<?xml version="1.0" encoding="ISO-8859-1"?><p:a xmlns:p="u" p:b="&#65;"><c/>t<![CDATA[<]]><c>d</c><!-- e --></p:a>' >"$folder/corpus/foreign-xml"
exec "$folder/fuzz" -max_total_time="$seconds" -max_len=2048 -timeout=5 -rss_limit_mb=1024 \
    -artifact_prefix="$folder/" "$folder/corpus"
