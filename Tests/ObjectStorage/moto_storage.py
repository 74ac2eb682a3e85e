"""moto's server, which speaks S3's protocol and checks signatures, on the loopback interface."""

import logging
import os
import pathlib
import shutil
import urllib.parse

# The first three requests make the user; from then on signatures are checked. moto reads it when it is imported.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "3"

import boto3
import moto.iam.access_control
from botocore.config import Config
from moto.server import ThreadedMotoServer

from harness import DEMO, ROOT

USER, REGION, BUCKET = "backups", "eu-central-1", "portico-backups"
POLICY = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}'
BACKUPS = """
upstreams:
  storage: {{ url: "{address}", networks: [127.0.0.1/32] }}
backups:
  target:
    s3:
      upstream: storage
      bucket: {bucket}
      region: {region}
      prefix: {prefix}
      accessKey: {{ env: AWS_ACCESS_KEY_ID }}
      secretKey: {{ env: AWS_SECRET_ACCESS_KEY }}
"""


CREATE_REQUEST = moto.iam.access_control.IAMRequestBase._create_aws_request


def request_as_sent(self):
    """moto compares with the query after it was decoded, so it refuses every list below a name with a slash, boto3's too."""
    path, _, query = self._path.partition("?")
    pairs = [pair.partition("=") for pair in query.split("&")] if query else []
    parts = ["=".join(urllib.parse.quote(urllib.parse.unquote(part), safe="-_.~") for part in (name, value))
             for name, _, value in pairs]
    self._path = path + ("?" if parts else "") + "&".join(parts)
    return CREATE_REQUEST(self)


moto.iam.access_control.IAMRequestBase._create_aws_request = request_as_sent


class Storage:
    def __init__(self):
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
        self.server.start()
        self.port = self.server.get_host_and_port()[1]
        self.address = f"http://127.0.0.1:{self.port}/"
        iam = self.client("iam", "first", "first")
        iam.create_user(UserName=USER)
        iam.put_user_policy(UserName=USER, PolicyName="all", PolicyDocument=POLICY)
        key = iam.create_access_key(UserName=USER)["AccessKey"]
        self.key, self.secret = key["AccessKeyId"], key["SecretAccessKey"]
        self.s3 = self.client("s3", self.key, self.secret)
        self.s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})

    def client(self, name, key, secret):
        return boto3.client(
            name, endpoint_url=self.address, region_name=REGION, aws_access_key_id=key, aws_secret_access_key=secret,
            config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}))

    def configuration(self, folder, prefix, bucket=BUCKET):
        """The demo's, with backups here; the keys come from the environment."""
        # With the files that it names beside it.
        shutil.copytree(ROOT / "Config", pathlib.Path(folder, "Config"))
        file = pathlib.Path(folder, "Config", "storage.yaml")
        file.write_text((ROOT / DEMO).read_text() + BACKUPS.format(
            address=self.address, bucket=bucket, region=REGION, prefix=prefix))
        return str(file)

    def environment(self, secret=None):
        return {"AWS_ACCESS_KEY_ID": self.key, "AWS_SECRET_ACCESS_KEY": secret or self.secret}

    def reading(self):
        return ("--endpoint", self.address, "--region", REGION, "--network", "127.0.0.1/32")

    def names(self, prefix):
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [found["Key"] for page in pages for found in page.get("Contents", [])]

    def stop(self):
        self.server.stop()
