"""What a server answers to a call, asked once: for its bytes, its validator, and the proof that it is what it should
be before anything is measured."""

import urllib.error
import urllib.request
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    status: int
    type: str
    etag: str
    body: bytes


def headers_of(call, token):
    return {**call.headers, **({"Authorization": f"Bearer {token}"} if call.needs_login and token else {})}


def ask(base, call, headers):
    request = urllib.request.Request(base + call.path, call.body.encode() or None, headers, method=call.method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return _answer(answer.status, answer)
    except urllib.error.HTTPError as error:
        return _answer(error.code, error)


def prepared(base, call, token):
    """The headers to load the server with, after it has proved that it answers them as it should."""
    headers = headers_of(call, token)
    first = ask(base, call, headers)
    expect(first.status == 200 and first.body, base, call, first)
    if call.needs_login and token:
        refused = ask(base, call, call.headers)
        expect(refused.status == 401, base, call, refused)
    if call.revalidates:
        headers["If-None-Match"] = first.etag
        second = ask(base, call, headers)
        expect(second.status == 304 and not second.body, base, call, second)
    return headers


def expect(holds, base, call, answer):
    if not holds:
        raise SystemExit(f"{base}{call.path}: unexpected answer {answer.status} {answer.body[:200]!r}")


def _answer(status, message):
    return Answer(status, message.headers.get_content_type(), message.headers.get("ETag", ""), message.read())
