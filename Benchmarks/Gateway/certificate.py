"""A certificate that all servers of a run share."""

import ssl
import subprocess
from pathlib import Path


class Certificate:
    """For 127.0.0.1, on a P-256 key, made by openssl in `folder`; valid for two days."""

    def __init__(self, folder):
        self.certificate, self.key = Path(folder, "certificate.pem"), Path(folder, "key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=benchmark", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.key, "-out",
             self.certificate], check=True, capture_output=True)
        self.trust = ssl.create_default_context(cafile=self.certificate)
