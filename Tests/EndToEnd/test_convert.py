"""`portico convert` from outside: every pair of formats and every way to fail."""

import datetime
import json
import plistlib
import struct
import subprocess
import tempfile
import time
import unittest

import cbor
from harness import BUILD

FORMATS = ["json", "plist", "bplist", "xml", "cbor"]
SAMPLES = [
    {"text": "é ‹&> \U0001F600 ]]> \"quoted\"", "lines": "one\r\ntwo\ttabbed", "empty": ""},
    {"numbers": [0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1], "reals": [0.5, 1.0, -1e-7, 1e300], "flags": [True, False]},
    {"empty list": [], "empty dictionary": {}, "one": [1], "nested": [[[]], [{}], {"a": {"b": [{"c": "d"}]}}]},
    {"order": {"z": 1, "a": 2, "m": 3}, "keys": {"": "empty", "a b": 1, "<&>": 2, "é": 3, "e\u0301": 4, "item": 5, "@name": 6, "$": 7}},
    {"long": "x" * 100_000, "many": list(range(2000))},
    [],
    ["a list at the top", {}],
]
MEMORY_OF_A_BOMB = 200 << 20


def bplist(objects):
    """A binary property list of objects as they are; the first one is the top."""
    offsets, data = [], b"bplist00"
    for each in objects:
        offsets.append(len(data))
        data += each
    table = b"".join(offset.to_bytes(2, "big") for offset in offsets)
    return data + table + bytes([0] * 6 + [2, 1]) + b"".join(n.to_bytes(8, "big") for n in [len(objects), 0, len(data)])


def convert(data, source, target=None, *options):
    to = ["--to", target] if target else []
    arguments = [str(BUILD / "portico"), "convert", "--from", source, *to, *options]
    return subprocess.run(arguments, input=data, capture_output=True, timeout=120)


class Conversion(unittest.TestCase):
    def converted(self, data, source, target, *options):
        done = convert(data, source, target, *options)
        self.assertEqual((done.returncode, done.stderr), (0, b""), (source, target, data[:200]))
        return done.stdout

    def refused(self, data, source, target, *words, options=()):
        done = convert(data, source, target, *options)
        self.assertEqual(done.returncode, 1, done)
        for word in words:
            self.assertIn(word, done.stderr.decode().lower())

    def test_every_pair_of_formats_carries_every_sample_there_and_back(self):
        for sample in SAMPLES:
            original = json.dumps(sample).encode()
            for source in FORMATS:
                written = self.converted(original, "json", source)
                for target in FORMATS:
                    there = self.converted(written, source, target)
                    back = json.loads(self.converted(there, target, "json"))
                    self.assertEqual(back, sample, (source, target))
                    self.assertEqual(json.dumps(back), json.dumps(sample), (source, target, "order or type changed"))

    def test_independent_readers_and_writers_agree(self):
        for sample in SAMPLES:
            original = json.dumps(sample).encode()
            self.assertEqual(plistlib.loads(self.converted(original, "json", "bplist")), sample)
            self.assertEqual(cbor.loads(self.converted(original, "json", "cbor")), sample)
            self.assertEqual(plistlib.loads(self.converted(original, "json", "plist")), sample)
            as_binary = plistlib.dumps(sample, fmt=plistlib.FMT_BINARY, sort_keys=False)
            self.assertEqual(json.loads(self.converted(as_binary, "bplist", "json")), sample)
            # plistlib makes every line end of XML a line feed when it writes.
            as_xml = plistlib.dumps(sample, sort_keys=False)
            expected = json.loads(json.dumps(sample).replace("\\r\\n", "\\n"))
            self.assertEqual(json.loads(self.converted(as_xml, "plist", "json")), expected)

    def test_dates_and_bytes_of_a_property_list_become_what_json_has_for_them(self):
        value = {"when": datetime.datetime(2026, 11, 21, 9, 30), "bytes": b"\x00\xff"}
        for form, name in [(plistlib.FMT_XML, "plist"), (plistlib.FMT_BINARY, "bplist")]:
            answer = json.loads(self.converted(plistlib.dumps(value, fmt=form), name, "json"))
            self.assertEqual(answer, {"when": "2026-11-21T09:30:00Z", "bytes": "AP8="})
            other = "bplist" if name == "plist" else "plist"
            self.assertEqual(plistlib.loads(self.converted(plistlib.dumps(value, fmt=form), name, other)), value)

    def test_without_a_target_it_validates(self):
        done = convert(b'{"a": [1, 2]}', "json")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        self.refused(b'{"a": [1, 2}', "json", None, "line 1")
        self.refused(bplist([b"\xa1\x01", b"\x33" + struct.pack(">d", 1e12)]), "bplist", None, "years", "byte 10")
        self.converted(bplist([b"\xa1\x01", b"\x33" + struct.pack(">d", -0.5)]), "bplist", "bplist")

    def test_malformed_input_is_refused_with_its_position(self):
        cases = [
            ("json", b'{\n  "a": }', "line 2"), ("json", b"[1,]", "line 1"), ("json", b'["\\ud800"]', "line 1"), ("json", b"", "line 1"),
            ("json", b"[1] 2", "column 5"), ("json", b"[01]", "line 1"), ("json", b"[1e400]", "line 1"),
            ("plist", b"<plist><dict>\n<key>a</key></dict></plist>", "line 2"), ("plist", b"<plist><integer>x</integer></plist>", "line 1"),
            ("xml", b"<a>\n<b></a>", "line 2"), ("xml", b"<a>&nope;</a>", "line 1"), ("xml", b"<!DOCTYPE a []><a/>", "line 1"),
            ("bplist", b"bplist00 and nothing", "byte"), ("bplist", b"", "byte"), ("cbor", b"\x82\x01", "byte"),
        ]
        for source, data, place in cases:
            with self.subTest(source=source, data=data):
                self.refused(data, source, "json", "error:", place)

    def test_what_a_format_cannot_carry_is_refused_with_its_position(self):
        cases = [
            ("json", "plist", b'{"a":\n null}', "line 2, column 2"), ("json", "bplist", b"[null]", "line 1, column 2"),
            ("json", "plist", b"[1, 18446744073709551616]", "line 1, column 5"), ("json", "xml", b'["a",\n"\\u0000"]', "line 2"),
            ("plist", "json", b"<plist>\n<real>nan</real></plist>", "line 2, column 7"),
            ("bplist", "json", plistlib.dumps([1, float("inf")], fmt=plistlib.FMT_BINARY), "byte 13"),
            ("json", "plist", b'{"CF$UID":1}', "line 1"),
        ]
        for source, target, data, place in cases:
            with self.subTest(source=source, target=target, data=data):
                self.refused(data, source, target, "error:", place)

    def test_known_bombs_are_refused_or_stay_small(self):
        """Shared children of a binary property list, openings without an end, entities."""
        for width in [2, 4, 15]:
            levels = [bytes([0xA0 | width] + [level + 1] * width) for level in range(30)]
            self.harmless(bplist(levels + [b"\x09"]), "bplist")
            self.harmless(bplist(levels + [b"\x4f\x10\xc8" + bytes(200)]), "bplist")
        entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 30))
        for source in ["xml", "plist"]:
            self.harmless(f'<!DOCTYPE a [<!ENTITY e0 "ha">{entities}]><a>&e29;</a>'.encode(), source)
        for source, data in [("json", b"["), ("json", b'{"a":'), ("xml", b"<a>"), ("plist", b"<plist><array>"), ("cbor", b"\x81")]:
            self.harmless(data * 100_000, source)

    def harmless(self, data, source):
        for target in [[], ["--to", "json"]]:
            with tempfile.TemporaryFile() as file:
                file.write(data)
                file.seek(0)
                used, status, errors = self.run_alone(["--from", source, *target], file)
            self.assertEqual(status, 1, (source, data[:40]))
            self.assertIn("error:", errors)
            self.assertLess(used, MEMORY_OF_A_BOMB, (source, data[:40]))

    def test_a_doubled_key_gives_way_to_the_later_one_with_a_warning(self):
        done = convert(b'{"a":1,"b":2,"a":3}', "json", "json")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stdout), {"b": 2, "a": 3})
        self.assertIn(b"warning", done.stderr)

    def test_the_limits_hold_and_are_named(self):
        self.converted(b"[[[1]]]", "json", "json", "--max-depth", "3")
        self.refused(b"[[[1]]]", "json", "json", "depth", options=["--max-depth", "2"])
        self.refused(b"[" * 100_000, "json", "json", "depth")
        self.converted(b"[1]", "json", "json", "--max-bytes", "3")
        self.refused(b"[10]", "json", "json", "3 bytes", options=["--max-bytes", "3"])
        self.refused(b"[1" + b" " * (256 << 20) + b"]", "json", None, f"{256 << 20} bytes")
        deepest = b"[" * 4_096 + b"]" * 4_096
        self.converted(deepest, "json", "json", "--max-depth", "4096")

    def test_wrong_usage_is_refused(self):
        for arguments in [["--from", "yaml"], [], ["--from", "json", "--to", "yaml"], ["--from", "json", "--max-depth", "0"],
                          ["--from", "json", "--max-depth", "4097"], ["--from", "json", "--dates", "some"]]:
            done = subprocess.run([str(BUILD / "portico"), "convert", *arguments], input=b"1", capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(b"Usage:", done.stderr)

    def test_a_closed_output_ends_it(self):
        with tempfile.TemporaryFile() as source:
            source.write(b"[" + b"1," * 1_000_000 + b"1]")
            source.seek(0)
            process = subprocess.Popen(
                [str(BUILD / "portico"), "convert", "--from", "json", "--to", "json"],
                stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            process.stdout.read(10)
            process.stdout.close()
            self.assertNotEqual(process.wait(timeout=60), 0)
            process.stderr.close()

    def test_the_time_grows_with_the_length_and_not_with_the_nesting(self):
        """Four thousand values beside four thousand levels: scanned once a level, they would take minutes."""
        pad = "x" * 200
        for levels in [10, 4_000]:
            rows = 4_000 // levels
            document = json.dumps({"pad": [pad] * rows}).encode()[:-1] + b', "in": '
            document = document * levels + b"1" + b"}" * levels
            for target in FORMATS:
                start = time.monotonic()
                written = self.converted(document, "json", target, "--max-depth", "4096")
                back = self.converted(written, target, "json", "--max-depth", "4096")
                self.assertLess(time.monotonic() - start, 60, (target, levels))
                self.assertEqual(back, document.replace(b", ", b",").replace(b": ", b":"), target)

    def test_dates_are_refused_or_rounded_where_the_target_has_whole_seconds(self):
        exact = plistlib.dumps({"at": datetime.datetime(2026, 1, 2, 3, 4, 5)}, fmt=plistlib.FMT_BINARY)
        fraction = bplist([b"\xd1\x01\x02", b"\x52at", b"\x33" + struct.pack(">d", 700_000_000.25)])
        for options in [[], ["--dates", "exact"], ["--dates", "whole"]]:
            self.assertIn(b"2026-01-02T03:04:05Z", self.converted(exact, "bplist", "plist", *options))
            self.assertIn(b".25Z", self.converted(fraction, "bplist", "json", *options))
        for options in [[], ["--dates", "exact"]]:
            self.refused(fraction, "bplist", "plist", "whole seconds", "byte", options=options)
        self.assertIn(b"<date>2023-03-08T20:26:40Z</date>", self.converted(fraction, "bplist", "plist", "--dates", "whole"))

    def run_alone(self, arguments, source):
        """The most memory of one conversion, its status and errors: it runs below a process that has no other child."""
        script = (
            "import resource, subprocess, sys\n"
            "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
            "sys.exit(done.returncode)")
        program = [str(BUILD / "portico"), "convert", *arguments]
        done = subprocess.run(["python3", "-c", script, *program], stdin=source, capture_output=True, timeout=300)
        return int(done.stdout) * 1024, done.returncode, done.stderr.decode()


if __name__ == "__main__":
    unittest.main()
