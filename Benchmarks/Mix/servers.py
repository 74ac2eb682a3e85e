"""The servers that the mix is measured on: the gateway and its peers, with the same certificate and the same bytes."""

import http.client
import json
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import mix
from nginx import free_port
from portico import REPOSITORY, Portico
from processes import Server


@dataclass(frozen=True)
class Recorded:
    status: int
    fields: list
    body: bytes


def recorded(server, requests):
    """Each request asked once, on one connection, and answered as it should be."""
    address = urlsplit(server.base)
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    connection = kind(address.hostname, address.port, timeout=30, **({"context": server.trust} if server.trust else {}))
    answers = []
    for request in requests:
        headers = {name: value.replace(mix.FRESH, "0af7651916cd43dd8448eb211c80319c") for name, value in request.headers.items()}
        connection.request(request.method, request.path, request.body or None, headers)
        answer = connection.getresponse()
        answers.append(Recorded(answer.status, answer.getheaders(), answer.read()))
        if answer.status != request.status:
            raise SystemExit(f"{server.name}: {request.method} {request.path}: {answer.status} {answers[-1].body[:200]!r}")
    connection.close()
    return answers


def configuration(folder):
    """The demo's, with the accounts of the mix."""
    copy = Path(folder, "Config")
    shutil.copytree(REPOSITORY / "Config", copy)
    accounts = "".join(f"    - {{ name: {name}, password: portico-demo, roles: [member] }}\n" for name in mix.ACCOUNTS)
    text, key = (copy / "demo.yaml").read_text(), "  demoAccounts:\n"
    assert key in text
    (copy / "mix.yaml").write_text(text.replace(key, key + accounts))
    return copy / "mix.yaml"


class MixPortico(Portico):
    """Passwords are cheap to hash and tokens live long, so that two hundred accounts are signed in quickly and once."""

    def __init__(self, folder, data, configuration, certificate, *settings):
        secure = certificate and {"http.tls.certificate": certificate.certificate, "http.tls.key": certificate.key}
        every = {"identity.passwords.cost": 10, "identity.tokens.accessLifetime": "8h", **(secure or {})}
        super().__init__(folder, data, *settings, *(f"--set={name}={value}" for name, value in every.items()))
        self.configuration, self.trust = configuration, certificate and certificate.trust

    def sign_in(self):
        """The accounts' tokens; each account has a note from now on."""
        tokens = [self.log_in(account) for account in mix.ACCOUNTS]
        for note, token in zip(mix.notes(), tokens):
            self.json("/api/v1/notes/notes", {name: note[name] for name in ("id", "title", "text")}, token)
        return tokens


_NGINX = """
daemon off; user root; master_process on; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log {folder}/access.log combined buffer=64k flush=1s;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    keepalive_requests 1000000000; keepalive_timeout 1h; tcp_nodelay on; types {{ }}
    map_hash_max_size 8192; map_hash_bucket_size 128; variables_hash_max_size 4096;
    map $uri $user {{
{users}
    }}
    map $arg_n $page {{
{pages}
    }}
{feed_parts}
    server {{
        listen 127.0.0.1:{port}{secure};
        {certificate}
        location /v2/ {{ default_type application/xml; return 200 $user; }}
        location = {search} {{ default_type application/json; return 200 $page; }}
        location = {feed} {{
            default_type {feed_type}; add_header ETag '{tag}'; add_header Cache-Control 'public, no-cache';
            if ($http_if_none_match = '{tag}') {{ return 304; }}
            return 200 {feed_body};
        }}
        location = /health/live {{ default_type application/json; return 200 '{{"status":"ok"}}'; }}
    }}
}}
"""
# nginx takes no longer text in its configuration.
_LONGEST_TEXT = 3000


class MixNginx(Server):
    """One worker, which answers the gateway's own bytes out of its configuration: users by path, pages by number. It reads
    no body and checks no login."""

    name = "nginx"

    def __init__(self, folder, requests, answers, certificate=None):
        super().__init__(folder)
        self.port = free_port()
        self.base = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port}"
        self.trust = certificate and certificate.trust
        (self.folder / "nginx.conf").write_text(self._configuration(requests, answers, certificate))

    def command(self):
        return ["nginx", "-c", self.folder / "nginx.conf", "-p", self.folder]

    def _configuration(self, requests, answers, certificate):
        pairs = list(zip(requests, answers, strict=True))
        users = {request.path: answer.body for request, answer in pairs if request.path.startswith("/v2/")}
        pages = {number: answer.body for number, (request, answer) in enumerate(pairs) if request.path == mix.SEARCH}
        feed = next(answer for request, answer in pairs if request.path == mix.FEED and request.status == 200)
        fields = {name.lower(): value for name, value in feed.fields}
        parts = _parts(feed.body.decode())
        return _NGINX.format(
            folder=self.folder, port=self.port, secure=" ssl http2" if certificate else "",
            certificate=f"ssl_certificate {certificate.certificate}; ssl_certificate_key {certificate.key}; "
            "ssl_protocols TLSv1.2 TLSv1.3;" if certificate else "",
            users=_entries(users), pages=_entries(pages), search=mix.SEARCH, feed=mix.FEED, tag=fields["etag"],
            feed_type=fields["content-type"],
            feed_parts="\n".join(f"    map 1 $feed_{number} {{ default {_quoted(part)}; }}" for number, part in enumerate(parts)),
            feed_body='"' + "".join(f"$feed_{number}" for number in range(len(parts))) + '"')


def _parts(text):
    return [text[start : start + _LONGEST_TEXT] for start in range(0, len(text), _LONGEST_TEXT)]


def _entries(bodies):
    return "\n".join(f"        {key} {_quoted(body.decode())};" for key, body in bodies.items())


def _quoted(text):
    assert "$" not in text and len(text.encode()) < 4000, "nginx would not take it as it is"
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


class NIOPeer(Server):
    """SwiftNIO alone, which answers recorded heads and bodies by path and number."""

    name = "nio"
    program = REPOSITORY / "Benchmarks/NIOPeers/.build/release/nio-peer"

    def __init__(self, folder, requests, answers, version, certificate=None):
        super().__init__(folder)
        self.port, self.version, self.certificate = free_port(), version, certificate
        self.base = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port}"
        recorded = [
            {"target": mix.numbered(request.path, number), "status": answer.status, "fields": answer.fields,
             "body": answer.body.decode()} for number, (request, answer) in enumerate(zip(requests, answers, strict=True))]
        (self.folder / "answers.json").write_text(json.dumps(recorded))

    def command(self):
        files = [self.certificate.certificate, self.certificate.key] if self.certificate else []
        return [self.program, self.version, self.folder / "answers.json", str(self.port), *files]

    def is_ready(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False
