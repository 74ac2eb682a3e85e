"""Backups to moto's S3: machines that are lost, large objects in parts, and operators' mistakes."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "EndToEnd"))

from harness import Gateway, run_portico
from lost_machine import LostMachine
from moto_storage import BUCKET, Storage

ROUNDS = int(os.environ.get("LOST_MACHINE_ROUNDS", "1"))


class ObjectStorage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.storage = Storage()

    @classmethod
    def tearDownClass(cls):
        cls.storage.stop()

    def test_what_was_acknowledged_ten_seconds_before_the_machine_was_lost_is_restored(self):
        for round in range(ROUNDS):
            prefix = f"lost/{round}"
            machine = LostMachine(
                f"s3://{BUCKET}/{prefix}", environment=self.storage.environment(), reading=self.storage.reading())
            machine.config = self.storage.configuration(machine.folder, prefix)
            try:
                needed, took = machine.run(13 + round % 7)
                print(f"round {round + 1}: {needed} changes were needed and there, restored in {took:.1f} s")
                self.assertGreater(needed, 0)
                verified = machine.control(
                    "backups", "verify", "--from", machine.place, *self.storage.reading())
                self.assertIsNone(verified["missingPiece"])
            finally:
                machine.close()

    def gateway(self, prefix, environment=None, **names):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        data = pathlib.Path(folder.name, "data")
        data.mkdir()
        gateway = Gateway(
            config=self.storage.configuration(folder.name, prefix, **names), data=str(data),
            environment=environment or self.storage.environment())
        self.addCleanup(gateway.remove)
        return gateway

    def control(self, gateway, *arguments):
        return run_portico(*arguments, "--data", str(gateway.data), program="porticoctl", timeout=300)

    def test_a_database_of_several_parts_is_copied_and_read_back(self):
        gateway = self.gateway("parts")
        for index in range(100):
            answer = gateway.send(
                "POST", "/api/v1/notes/notes", {"title": f"large {index}", "text": "x" * 100_000}, user="alice")
            self.assertEqual(answer.status, 201, answer)
        done = self.control(gateway, "backup")
        self.assertEqual(done.returncode, 0, done)
        store = next(name for name in sorted(self.storage.names("parts/copies"), reverse=True) if name.endswith("/store"))
        head = self.storage.s3.head_object(Bucket=BUCKET, Key=store)
        self.assertGreater(head["ContentLength"], 9 << 20)
        # The digest of an object of several parts says how many they were.
        self.assertRegex(head["ETag"], r"-\d+\"$")
        self.assertEqual(
            self.storage.s3.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []), [], "an upload was left")

    def test_mistakes_are_told_in_a_sentence(self):
        for names, environment, sentence in (
            ({"bucket": "missing"}, None, "The bucket missing is not there"),
            ({}, self.storage.environment(secret="wrong"), "The secret key does not belong"),
        ):
            gateway = self.gateway("mistakes", environment=environment, **names)
            done = self.control(gateway, "backup")
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(sentence, done.stderr)
            self.assertIn(sentence, self.control(gateway, "status").stdout)
            gateway.stop()
            self.assertIn(sentence, gateway.log())


if __name__ == "__main__":
    unittest.main()
