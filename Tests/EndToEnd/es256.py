"""ES256 signatures (FIPS 186-5, RFC 7518 section 3.4) without a library, to sign what the gateway must refuse. For tests
only: nothing here is safe against timing attacks."""

import base64
import hashlib
import json
import secrets

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)


def encode(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _add(left, right):
    if left is None or right is None:
        return left or right
    (x1, y1), (x2, y2) = left, right
    if x1 == x2 and (y1 + y2) % P == 0:
        return None
    slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, P) if left == right else (y2 - y1) * pow(x2 - x1, -1, P)
    x = (slope * slope - x1 - x2) % P
    return x, (slope * (x1 - x) - y1) % P


def _multiply(factor, point):
    product = None
    while factor:
        if factor & 1:
            product = _add(product, point)
        point, factor = _add(point, point), factor >> 1
    return product


def sign(private_key, message):
    digest = int.from_bytes(hashlib.sha256(message).digest())
    nonce = secrets.randbelow(N - 1) + 1
    r = _multiply(nonce, G)[0] % N
    s = pow(nonce, -1, N) * (digest + r * private_key) % N
    return r.to_bytes(32) + s.to_bytes(32)


def parts(token):
    head, claims, _ = token.split(".")
    return json.loads(decode(head)), json.loads(decode(claims))


def token(head, claims, signer):
    """`signer` makes the signature of the text that is signed."""
    text = ".".join(encode(json.dumps(part).encode()) for part in (head, claims))
    return f"{text}.{encode(signer(text.encode()))}"
