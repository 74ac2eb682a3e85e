"""The packages of a release are made of names, contents and the commit's time alone, and list what is inside."""

import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "Deploy/packages"))

import archive  # noqa: E402
import components  # noqa: E402
import image  # noqa: E402
import spdx  # noqa: E402
from release import Release  # noqa: E402

RELEASE = Release("0.2.0-dev.20260101000000.gabc", "abc", 1_767_225_600, "x86_64")


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def tree(self, name, order, mode, time):
        root = self.folder / name
        for file in order:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(file)
            (root / file).chmod(mode)
            os.utime(root / file, (time, time))
        (root / "bin/program").chmod(mode | 0o111)
        (root / "link").symlink_to("bin/program")
        return root


class Archives(Files):
    def test_order_times_and_masks_of_files_change_no_byte(self):
        one = self.tree("one", ["bin/program", "a", "b"], 0o600, 1)
        other = self.tree("elsewhere/other", ["b", "a", "bin/program"], 0o664, 2_000_000_000)
        for ending in ["tar", "tar.gz", "tar.xz"]:
            files = [self.folder / f"{name}.{ending}" for name in ("1", "2")]
            archive.write(one, files[0], 7, prefix="portico")
            archive.write(other, files[1], 7, prefix="portico")
            self.assertEqual(files[0].read_bytes(), files[1].read_bytes(), ending)
            with tarfile.open(files[0]) as tar:
                found = {entry.name: (entry.mode, entry.uid, entry.mtime) for entry in tar}
            self.assertEqual(found["portico/bin/program"], (0o755, 0, 7))
            self.assertEqual(found["portico/a"], (0o644, 0, 7))

    def test_contents_change_them(self):
        root = self.tree("one", ["bin/program"], 0o600, 1)
        before, after = io.BytesIO(), io.BytesIO()
        archive.write_plain(root, before, 7)
        (root / "bin/program").write_text("other")
        archive.write_plain(root, after, 7)
        self.assertNotEqual(before.getvalue(), after.getvalue())

    def test_two_names_of_one_file_are_two_files(self):
        root = self.tree("one", ["bin/program"], 0o600, 1)
        (root / "again").hardlink_to(root / "bin/program")
        stream = io.BytesIO()
        archive.write_plain(root, stream, 7)
        stream.seek(0)
        with tarfile.open(fileobj=stream) as tar:
            self.assertEqual([tar.extractfile(name).read() for name in ("again", "bin/program")], [b"bin/program"] * 2)


class Versions(Files):
    def test_a_version_comes_before_its_release_and_after_older_commits(self):
        versions = ["0.1.9", "0.2.0-dev.20250101000000.gfff", RELEASE.version, "0.2.0"]
        debian = [Release(version, "", 0, "x86_64").debian_version for version in versions]
        for lower, higher in zip(debian, debian[1:]):
            done = subprocess.run(["dpkg", "--compare-versions", lower, "lt", higher], check=False)
            self.assertEqual(done.returncode, 0, (lower, higher))

    def test_the_version_is_the_programs_where_its_tag_is_at_the_commit(self):
        def git(*arguments):
            subprocess.run(["git", "-C", self.folder, "-c", "user.name=A", "-c", "user.email=a@b", *arguments], check=True,
                env={**os.environ, "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}, stdout=subprocess.DEVNULL)

        program = self.folder / "tree/bin/portico"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\necho 0.2.0\n")
        program.chmod(0o755)
        git("init", "--quiet")
        git("add", "tree")
        git("commit", "--quiet", "--message", "One")
        self.assertRegex(Release.of(self.folder, self.folder / "tree").version, r"^0\.2\.0-dev\.20260101000000\.g[0-9a-f]{8}$")
        git("tag", "v0.2.0")
        self.assertEqual(Release.of(self.folder, self.folder / "tree").version, "0.2.0")
        program.write_text("#!/bin/sh\necho 0.2.1\n")
        self.assertRegex(Release.of(self.folder, self.folder / "tree").version, r"^0\.2\.1-dev\..*\.changed$")


class Lists(unittest.TestCase):
    part = components.Component("swift-x", "1.0", "git+https://example.org/x@1", "MIT", "pkg:swift/example.org/x@1.0")

    def test_every_relation_is_of_things_that_are_listed(self):
        files = {pathlib.Path("portico_1.deb"): ("0" * 64, [self.part]), pathlib.Path("portico-1.tar.gz"): ("1" * 64, [self.part])}
        document = json.loads(spdx.document(RELEASE, files))
        listed = {"SPDXRef-DOCUMENT", *(package["SPDXID"] for package in document["packages"])}
        related = {one[side] for one in document["relationships"] for side in ("spdxElementId", "relatedSpdxElement")}
        self.assertEqual(related, listed)
        self.assertEqual(len(listed), 4)
        for identifier in listed:
            self.assertRegex(identifier, r"^SPDXRef-[A-Za-z0-9.-]+$")
        self.assertEqual(document["creationInfo"]["created"], "2026-01-01T00:00:00Z")
        self.assertEqual(spdx.document(RELEASE, files), spdx.document(RELEASE, dict(reversed(files.items()))))

    def test_licenses_are_told_by_their_text(self):
        for text, name in [
            ("Apache License\nVersion 2.0", "Apache-2.0"), ("Permission is hereby granted, free of charge, to", "MIT"),
            ("Apache License\n## Runtime Library Exception to the", "Apache-2.0 WITH Swift-exception"), ("All rights reserved", None),
        ]:
            self.assertEqual(components.license_of(text), name)


class Images(Files):
    def test_the_layout_names_its_blobs_by_their_digests(self):
        layer = self.folder / "layer.tar.gz"
        layer.write_bytes(b"layer")
        image.lay_out_image(self.folder / "layout", RELEASE, layer, "0" * 64)
        index = json.loads((self.folder / "layout/index.json").read_text())
        for older in json.loads((self.folder / "layout/manifest.json").read_text()):
            self.assertEqual((self.folder / "layout" / older["Layers"][0]).read_bytes(), b"layer")
        name = index["manifests"][0]["digest"].split(":")[1]
        manifest = json.loads((self.folder / "layout/blobs/sha256" / name).read_text())
        self.assertEqual(manifest["layers"][0]["size"], len(b"layer"))


if __name__ == "__main__":
    unittest.main()
