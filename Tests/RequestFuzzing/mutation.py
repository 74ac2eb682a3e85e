"""Damages requests: values, texts, numbers, header fields, bytes. Everything goes by one `random.Random`."""

import copy
import json
import re
import struct

import wire_values
from corpus import HEADERS, Call
from harness import BPLIST, JSON, PLIST, XML
from wire_values import CBOR

NUMBERS = [
    0, -1, 1, 127, 128, 255, 256, 65_535, 65_536, 2**31 - 1, 2**31, -2**31, -2**31 - 1, 2**32, 2**53, 2**63 - 1, 2**63, -2**63,
    -2**63 - 1, 2**64 - 1, 2**64, 10**15, 999_999_999_999_999, 10**30, 0.5, -0.0, 1e-300, 1e15, 1e300, 9.3e18, -9.223372036854775808e18,
    253402300800, 63113904000,
]
TEXTS = [
    "", " ", "\0", "\x01", "\x7f", "\r\n", "\t", "'", "\"", "''", "%", "%00", "%zz", "%u0041", "a\u0301", "\u0301", "\u00df", "\u0130",
    "\u212a", "\U0001f468\u200d\U0001f469", "\u202e", "\ufeff", "\uffff", "\u2028", "null", "NaN", "-INF", "true", "*", "$", "@", "/", "//", "..", "../..",
    "$1", "$0/School", "$batch", "P999999999999999D", "PT999999999999999H", "-P106751991167300D", "PT0.000000000000001S",
    "/Date(-9223372036854775808)/", "/Date(9223372036854775807+9999)/", "9999-12-31T23:59:59.999999999Z", "0000-01-01T00:00:00Z",
    "-0001-01-01", "24:00:00", "2024-02-30", "1e999999", "1e-999999", "9" * 400, "-9223372036854775808", "9223372036854775808",
    "0x10", "+1", "1.", ".5", "1e", "bytes=0-", "bytes=--5", "bytes 1--9223372036854775808/5", "bytes 0-9223372036854775807/9223372036854775807",
    "a" * 300, "a" * 9_000, "a" * 70_000, "(" * 200, "((((", "[" * 600, "not " * 150 + "x", "{}", "[]", "<a/>", "&amp;", "<![CDATA[x]]>",
    "application/json;" + "a=b;" * 50, "x" * 64, "A.B", "Edm.String", "geography'SRID=0;Point(1 2)'", "binary'AA'", "duration'P1D'",
]
# What keeps its kind gets further than what is refused at once.
_KINDS = [
    (re.compile(r"^'?-?P[\dDTHMS.]+'?$"), [
        "P999999999999999D", "-P999999999999999D", "PT999999999999999H", "P106751991167300DT23H59M59.999999999999S", "PT0S",
        "P0D", "PT1M60S", "P99999999D"]),
    (re.compile(r"^/Date\("), [f"/Date({number}{offset})/" for number in (-2**63, 2**63 - 1, 2**63, 0, -1) for offset in ("", "+0060", "-9999")]),
    (re.compile(r"^'?\d{4}-\d\d-\d\d"), [
        "9999-12-31T23:59:59.999999999999Z", "0000-01-01T00:00:00Z", "-9999-01-01T00:00:00Z", "99999-01-01T00:00:00Z", "2024-02-30",
        "9999-12-31", "0000-01-01", "2024-01-02T03:04:05+14:00", "2024-01-02T24:00:00Z"]),
    (re.compile(r"^-?\d+(\.\d+)?$"), [str(number) for number in NUMBERS]),
]
_TOKEN = re.compile(r"\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?|'-?P[\dDTHMS.]+'|-?\d+(?:\.\d+)?|'[^']*'|[A-Za-z_$@]\w*")
_EXPRESSIONS = [
    "1 add 1", "(1)", "null", "Status", "-9223372036854775808", "9223372036854775807 add 1", "-9223372036854775808 div -1",
    "-9223372036854775808 mod -1", "1 div 0", "1.0 divby 0", "1e308 mul 1e308", "now()", "duration'P999999999999999D'", "cast('x',Edm.Int32)",
    "Registered add duration'P99999999D'", "substring('abc',-9223372036854775808,9223372036854775807)", "round(1e300)",
    "BirthDate add duration'P99999999D'", "Visits/$count", "case(true:1,false:2)", "$it/StudentID", "ceiling(-1e308)", "isof(Edm.String)",
]
_CHAINS = [(" and ", "true"), (" add ", "1"), (" or ", "1 eq 1"), (",", "1")]


class Mutator:
    def __init__(self, random):
        self.random = random

    def mutated(self, call, others):
        call = call.copy()
        for _ in range(self.random.choice((1, 1, 1, 2, 3, 5))):
            self.random.choice((
                self.target, self.target, self.value, self.value, self.value, self.header, self.header, self.kind, self.bytes,
                self.method))(call)
        if self.random.random() < 0.12:
            call = self.in_batch([call, *(other.copy() for other in self.random.sample(others, self.random.randrange(3)))])
        return call

    # Parts of a request

    def method(self, call):
        if self.random.random() < 0.4:
            call.method = self.random.choice(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "MERGE", "TRACE", "QUERY"])

    def target(self, call):
        path, mark, query = call.target.partition("?")
        choice = self.random.randrange(8)
        if choice == 0:
            path = self.in_tokens(path)
        elif choice == 1:
            path += self.random.choice(["/", "/x", "//", "/$value", "/$count", "/$ref", "(1)", "()", "/" + "a/" * 300, ";a=b", "/%2e%2e/"])
        elif choice == 2:
            query += ("&" if query else "") + self.random.choice([
                "filter=", "$filter=", "$expand=", "$apply=", "$orderby=", "$select=", "$skip=", "$top=", "limit=", "cursor=",
                "$skiptoken=", "$deltatoken=", "format=", "wait=", "after=", "$search=", "$compute=", "$index=", "@a=", "=", "&"]
            ) + self.escaped(self.text())
        elif choice == 3 and query:
            chain, one = self.random.choice(_CHAINS)
            query += self.escaped(chain.join([one] * self.random.choice((3, 60, 300, 900))))
        elif choice == 4:
            query = "&".join(self.random.sample(query.split("&"), len(query.split("&"))) * self.random.choice((1, 1, 2)))
        else:
            query = self.in_tokens(query)
        call.target = path + ("?" + query if query or mark else "")

    def in_tokens(self, text):
        tokens = list(_TOKEN.finditer(text))
        if not tokens:
            return text + self.escaped(self.text())
        token = self.random.choice(tokens)
        if (kept := self.of_kind(token.group())) and self.random.random() < 0.6:
            return text[:token.start()] + self.escaped(kept) + text[token.end():]
        new = self.random.choice((
            lambda: str(self.random.choice(NUMBERS)), lambda: self.escaped(self.text()), lambda: "'" + self.escaped(self.text()) + "'",
            lambda: self.escaped(self.random.choice(_EXPRESSIONS)), lambda: "", lambda: token.group() * 2,
            lambda: "(" * self.random.choice((1, 50, 150, 2000)) + token.group(),
            lambda: self.random.choice(tokens).group()))()
        return text[:token.start()] + new + text[token.end():]

    def of_kind(self, text):
        """Another text of the same kind, quoted alike; None for one of no kind."""
        for pattern, others in _KINDS:
            if pattern.match(text):
                other = self.random.choice(others)
                return f"'{other}'" if text.startswith("'") else other
        return None

    def header(self, call):
        name, value = self.random.choice(HEADERS)
        choice = self.random.randrange(6)
        if choice == 0:
            value = self.in_tokens(value)
        elif choice == 1:
            value = self.text()
        elif choice == 2:
            call.headers += [(f"X-{number}", "1") for number in range(self.random.choice((20, 90, 99, 200)))]
        elif choice == 3 and call.headers:
            call.headers.pop(self.random.randrange(len(call.headers)))
        call.headers.append((name, value))

    def kind(self, call):
        if call.kind:
            call.kind = self.random.choice((JSON, PLIST, BPLIST, CBOR, XML))

    def bytes(self, call):
        data = bytearray(encoded(call))
        for _ in range(self.random.randrange(1, 5)):
            if not data:
                break
            at, end = sorted(self.random.randrange(len(data) + 1) for _ in range(2))
            self.random.choice((
                lambda: data.__setitem__(slice(at, at + 1), bytes([self.random.randrange(256)])), lambda: data.__delitem__(slice(at, end)),
                lambda: data.__setitem__(slice(at, at), data[at:end] * self.random.choice((1, 2, 50))),
                lambda: data.__setitem__(slice(at, at), self.text().encode("utf-8", "replace")),
                lambda: self.date(data), lambda: self.date(data),
                lambda: data.__setitem__(slice(at, at), struct.pack(">q", self.random.choice((-2**63, 2**63 - 1, -1))))))()
        body_type = next((value for name, value in call.headers if name.lower() == "content-type"), call.kind)
        call.body, call.kind = bytes(data[:200_000]), None
        if body_type and not any(name.lower() == "content-type" for name, _ in call.headers):
            call.headers.append(("Content-Type", body_type))

    def date(self, data):
        """Another double for a date of a binary property list."""
        place = data.find(b"\x33\x3f\xf0")
        if place >= 0:
            seconds = self.random.choice((-2.0**63, 2.0**63, 1e300, float("nan"), float("inf"), 1e12, -2.0**53))
            data[place + 1:place + 9] = struct.pack(">d", seconds)

    def value(self, call):
        if call.kind and not isinstance(call.body, bytes):
            call.body = self.damaged(copy.deepcopy(call.body))
        elif call.kind is None and call.body:
            self.bytes(call)
        else:
            self.target(call)

    def damaged(self, value, depth=0):
        if isinstance(value, dict) and value and (depth == 0 or self.random.random() < 0.8):
            name = self.random.choice(list(value))
            choice = self.random.randrange(9)
            if choice == 0:
                del value[name]
            elif choice == 1:
                value[self.text()[:200]] = value[name]
            elif choice == 2:
                value.update({f"k{number}": number for number in range(self.random.choice((10, 200, 3_000)))})
            else:
                value[name] = self.damaged(value[name], depth + 1)
            return value
        if isinstance(value, list) and value and self.random.random() < 0.8:
            index = self.random.randrange(len(value))
            if self.random.random() < 0.2:
                return value * self.random.choice((0, 2, 50, 120))
            value[index] = self.damaged(value[index], depth + 1)
            return value
        if isinstance(value, (int, float)) and self.random.random() < 0.5:
            return self.random.choice(NUMBERS)
        if isinstance(value, str) and (kept := self.of_kind(value)) and self.random.random() < 0.6:
            return kept
        return self.random.choice((
            self.text, self.text, lambda: self.random.choice(NUMBERS), lambda: self.random.choice(NUMBERS), lambda: None, lambda: True, list, dict,
            lambda: [value, value], lambda: {"a": value}, self.nested, lambda: str(value), lambda: self.text() + str(value)))()

    def nested(self):
        value = 1
        for _ in range(self.random.choice((5, 60, 126, 400))):
            value = [value] if self.random.random() < 0.5 else {"a": value}
        return value

    def in_batch(self, calls):
        inner = []
        for number, call in enumerate(calls):
            headers = {name: value for name, value in call.headers}
            if self.random.random() < 0.02:
                headers |= {f"x{field}": "" for field in range(self.random.choice((101, 65_536, 66_000)))}
            body = call.body.decode("utf-8", "replace") if isinstance(call.body, bytes) else call.body
            inner.append({"id": str(number), "method": call.method, "path": call.target, "headers": headers, **({"body": body} if body is not None else {})})
        return Call("POST", "/batch", [("Accept", self.random.choice((JSON, PLIST, BPLIST, CBOR, XML)))], {"calls": inner},
                    self.random.choice((JSON, JSON, CBOR, PLIST, BPLIST)))

    # Texts

    def text(self):
        return self.random.choice(TEXTS) + (self.random.choice(TEXTS) if self.random.random() < 0.2 else "")

    def escaped(self, text):
        """As an address has it; now and then as it is."""
        if self.random.random() < 0.1:
            return text
        return "".join(c if c.isascii() and (c.isalnum() or c in "-._~()',$/:@*") else "".join(f"%{b:02X}" for b in c.encode("utf-8", "replace")) for c in text)


def encoded(call):
    """The body's bytes, as JSON where its type cannot carry it."""
    if call.body is None:
        return b""
    if isinstance(call.body, bytes):
        return call.body
    try:
        return wire_values.encode(call.kind, call.body)
    except Exception:  # each writer says otherwise what it cannot carry
        return json.dumps(call.body, default=str).encode("utf-8", "replace")
