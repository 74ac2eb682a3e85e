"""Compares this repository's formats with other implementations, value by value.

    compare.py DRIVER [--values N] [--seed S] [--keep FOLDER] [--plists bplist,plist]

DRIVER is the release-built wire-differential. It writes documents of generated values and what each value is; Python's
json and plistlib, plutil and plistutil read them, write them again, and DRIVER reads that. Any difference that is not
listed in EXPLAINED ends the run with status 1. A peer that is not installed is named and skipped.
"""

import argparse
import datetime
import json
import math
import os
import plistlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unicodedata

# What a peer is known to lose, checked against its source or by hand; the value is compared without it.
EXPLAINED = {
    # It looks objects up by (type, value), and -0.0 == 0.0: the second one is written as a reference to the first.
    ("plistlib", "writes bplist"): ["sign of zero"],
    # It has a type for uids and yet reads the dictionary that stands for one in XML as a dictionary.
    ("plistlib", "reads plist"): ["uids"],
    # It writes each carriage return, with the line feed behind it, as one line feed.
    ("plistlib", "writes plist"): ["carriage returns", "uids"],
    # Swift's dictionaries take canonically equal keys for one.
    ("plutil", "reads bplist"): ["normalized keys"],
    ("plutil", "reads plist"): ["normalized keys"],
}

EPOCH = datetime.datetime(2001, 1, 1)


def frames(path):
    with open(path, "rb") as file:
        while head := file.read(8):
            yield file.read(int.from_bytes(head, "big"))


def write_frames(path, documents):
    with open(path, "wb") as file:
        for document in documents:
            file.write(len(document).to_bytes(8, "big") + document)


def tagged(value):
    """What the driver's Tagged.swift makes of a value."""
    if value is None:
        return ["n"]
    if isinstance(value, bool):
        return ["b", value]
    if isinstance(value, int):
        return ["i", str(value)]
    if isinstance(value, float):
        return ["r", "nan" if math.isnan(value) else struct.pack(">d", value).hex()]
    if isinstance(value, str):
        return ["s", value.encode().hex()]
    if isinstance(value, bytes):
        return ["d", value.hex()]
    if isinstance(value, datetime.datetime):
        return ["t", str(round((value - EPOCH) / datetime.timedelta(seconds=1)))]
    if isinstance(value, plistlib.UID):
        return ["u", str(value.data)]
    if isinstance(value, list):
        return ["a", [tagged(item) for item in value]]
    return ["m", [[key.encode().hex(), tagged(item)] for key, item in value.items()]]


def difference(left, right, path="$"):
    """The first place where two tagged values differ, or None."""
    if left == right:
        return None
    if left[0] == right[0] == "a" and len(left[1]) == len(right[1]):
        pairs = enumerate(zip(left[1], right[1]))
        return next(filter(None, (difference(a, b, f"{path}[{i}]") for i, (a, b) in pairs)))
    if left[0] == right[0] == "m" and [m[0] for m in left[1]] == [m[0] for m in right[1]]:
        pairs = zip(left[1], right[1])
        return next(filter(None, (difference(a[1], b[1], f"{path}.{a[0]}") for a, b in pairs)))
    return path, left, right


def without_sign_of_zero(value):
    if value[0] == "a":
        return ["a", [without_sign_of_zero(item) for item in value[1]]]
    if value[0] == "m":
        return ["m", [[key, without_sign_of_zero(item)] for key, item in value[1]]]
    return ["r", "0" * 16] if value == ["r", "8" + "0" * 15] else value


def without_normalized_keys(value):
    """Drops members whose key has a canonically equal spelling."""
    if value[0] == "a":
        return ["a", [without_normalized_keys(item) for item in value[1]]]
    if value[0] != "m":
        return value
    return ["m", [[key, without_normalized_keys(item)] for key, item in value[1] if not is_ambiguous(key)]]


def is_ambiguous(key):
    text = bytes.fromhex(key).decode()
    return unicodedata.normalize("NFC", text) != text or unicodedata.normalize("NFD", text) != text


def without_uids(value):
    """A uid as the dictionary that stands for it in XML."""
    if value[0] == "a":
        return ["a", [without_uids(item) for item in value[1]]]
    if value[0] == "m":
        return ["m", [[key, without_uids(item)] for key, item in value[1]]]
    return ["m", [[b"CF$UID".hex(), ["i", value[1]]]]] if value[0] == "u" else value


def without_carriage_returns(value):
    def plain(text):
        return bytes.fromhex(text).replace(b"\r\n", b"\n").replace(b"\r", b"\n").hex()

    if value[0] == "a":
        return ["a", [without_carriage_returns(item) for item in value[1]]]
    if value[0] == "m":
        return ["m", [[plain(key), without_carriage_returns(item)] for key, item in value[1]]]
    return ["s", plain(value[1])] if value[0] == "s" else value


LOSSES = {
    "carriage returns": without_carriage_returns,
    "sign of zero": without_sign_of_zero, "normalized keys": without_normalized_keys, "uids": without_uids,
}


def sort_members(value):
    """Foundation's dictionaries have no order."""
    if value[0] == "a":
        return ["a", [sort_members(item) for item in value[1]]]
    if value[0] == "m":
        return ["m", sorted([key, sort_members(item)] for key, item in value[1])]
    return value


class Run:
    def __init__(self, driver, seed, values, folder):
        self.driver, self.seed, self.values, self.folder = driver, str(seed), str(values), folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def drive(self, command, form, target):
        subprocess.run([self.driver, command, form, self.seed, self.values, target], check=True)

    def documents(self, form):
        with open(self.path(form + ".expected")) as lines:
            yield from zip(frames(self.path(form + ".frames")), map(json.loads, lines))

    def compare(self, form, peer, read, write=None, ordered=True):
        """The peer reads what we wrote; we read what it writes."""
        written = []
        count = 0
        for document, expected in self.documents(form):
            value = read(document)
            self.require(peer, f"reads {form}", tagged(value), expected, ordered)
            count += len(expected[1])
            if write:
                written.append(write(value))
        print(f"{peer} reads {form}: {count} values as they were written", flush=True)
        if write:
            self.compare_written(form, peer, written)

    def compare_written(self, form, peer, written):
        target = self.path(f"{peer}.{form}.frames")
        write_frames(target, written)
        self.drive("tag", form, target)
        with open(target + ".tagged") as lines:
            for line, (_, expected) in zip(lines, self.documents(form), strict=True):
                self.require(peer, f"writes {form}", json.loads(line), expected, True)
        print(f"{peer} writes {form}: {self.values} values read as they are", flush=True)

    def require(self, peer, does, got, expected, ordered):
        if not ordered:
            got, expected = sort_members(got), sort_members(expected)
        for loss in EXPLAINED.get((peer, does), []):
            got, expected = LOSSES[loss](got), LOSSES[loss](expected)
        if found := difference(got, expected):
            sys.exit(f"{peer} {does} differently at {found[0]}: {found[1]} instead of {found[2]}")


def plist_bytes(form):
    style = plistlib.FMT_BINARY if form == "bplist" else plistlib.FMT_XML
    return lambda value: plistlib.dumps(value, fmt=style, sort_keys=False)


def through(folder, *command):
    """Sends a document through a converter and gives what plistlib reads of the result."""
    source, target = os.path.join(folder, "in.plist"), os.path.join(folder, "out.plist")

    def read(document):
        with open(source, "wb") as file:
            file.write(document)
        arguments = [word.format(source=source, target=target) for word in command]
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
        with open(target, "rb") as file:
            return plistlib.load(file)

    return read


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("driver")
    parser.add_argument("--values", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep")
    parser.add_argument("--plists", default="bplist,plist")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        run = Run(options.driver, options.seed, options.values, options.keep or scratch)
        run.drive("generate", "json", run.folder)
        run.compare("json", "python", json.loads, lambda value: json.dumps(value).encode())
        run.compare("json", "python-utf8", json.loads, lambda value: json.dumps(value, ensure_ascii=False, indent=1).encode())
        for form in options.plists.split(","):
            run.drive("generate", form, run.folder)
            run.compare(form, "plistlib", plistlib.loads, plist_bytes(form))
            # plutil refuses every keyed archiver's uid.
            run.drive("generate-plain", form, run.folder)
            peers = {
                "plutil": ["plutil", "-convert", "binary1", "-o", "{target}", "{source}"],
                "plistutil": ["plistutil", "-f", "bin", "-i", "{source}", "-o", "{target}"],
            }
            for peer, command in peers.items():
                if shutil.which(command[0]):
                    run.compare(form, peer, through(scratch, *command), ordered=False)
                else:
                    print(f"{peer} is not installed: skipped")


if __name__ == "__main__":
    main()
