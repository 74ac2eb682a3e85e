"""CBOR (RFC 8949) as far as the adapter protocol uses it. Only Python's standard library."""

import datetime
import decimal
import math
import re
import struct
import sys

MAXIMUM_DEPTH = 512
# Two calls of Python for each level, and room for those around them.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 4 * MAXIMUM_DEPTH))
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
# Seconds from there to the first instant of Python's calendar, and to the end of its last day.
_EPOCH_TO_FIRST, _EPOCH_TO_END = -62_135_596_800, 253_402_300_800


class Malformed(ValueError):
    """Bytes that are no CBOR item of the protocol."""


class Instant(datetime.datetime):
    """A date with more digits than microseconds, or outside of the years 1 to 9999: the nearest that Python has. `came` is the
    tag and the content that it came as, and is sent back while the date is passed on as it is."""


def dumps(value):
    """The bytes of None, a boolean, number, text, bytes, date, list or dictionary with texts as keys."""
    out = bytearray()
    _write(value, out)
    return bytes(out)


def loads(data):
    """The value of one item, which fills the bytes."""
    reader = _Reader(data)
    value = reader.value(0)
    if reader.at != len(data):
        raise Malformed("more follows the item")
    return value


def _date(text):
    plain = re.sub(r"(\.\d{6})\d+", r"\1", text).replace("Z", "+00:00")
    if plain.startswith("0000-"):
        datetime.datetime.fromisoformat("0004" + plain[4:])  # Refused where it is no date of a leap year, which that one was.
        return _instant(datetime.datetime.min, 0, text)
    date = datetime.datetime.fromisoformat(plain)
    return date if plain == text.replace("Z", "+00:00") else _instant(date, 0, text)


def _date_of_seconds(seconds):
    if _EPOCH_TO_FIRST <= seconds < _EPOCH_TO_END:
        return _EPOCH + datetime.timedelta(seconds=seconds)
    if not math.isfinite(seconds):
        raise ValueError(seconds)
    return _instant(datetime.datetime.min if seconds < 0 else datetime.datetime.max, 1, seconds)


def _instant(date, tag, content):
    instant = Instant.combine(date.date(), date.time(), date.tzinfo or datetime.timezone.utc)
    instant.came = (tag, content)
    return instant


def _head(kind, number, out):
    if number < 24:
        out.append(kind << 5 | number)
    elif number < 1 << 8:
        out += bytes((kind << 5 | 24, number))
    elif number < 1 << 16:
        out += struct.pack(">BH", kind << 5 | 25, number)
    elif number < 1 << 32:
        out += struct.pack(">BI", kind << 5 | 26, number)
    else:
        out += struct.pack(">BQ", kind << 5 | 27, number)


def _write(value, out):
    if value is None or value is True or value is False:
        out.append({None: 0xF6, True: 0xF5, False: 0xF4}[value])
    elif isinstance(value, int):
        number = value if value >= 0 else -1 - value
        if number < 1 << 64:
            _head(0 if value >= 0 else 1, number, out)
        else:
            _head(6, 2 if value >= 0 else 3, out)
            _write(number.to_bytes((number.bit_length() + 7) // 8, "big"), out)
    elif isinstance(value, float):
        out += struct.pack(">Bd", 0xFB, value)
    elif isinstance(value, str):
        text = value.encode()
        _head(3, len(text), out)
        out += text
    elif isinstance(value, (bytes, bytearray)):
        _head(2, len(value), out)
        out += value
    elif isinstance(value, datetime.datetime):
        if came := getattr(value, "came", None):
            _head(6, came[0], out)
            return _write(came[1], out)
        seconds = (value - _EPOCH).total_seconds()
        _head(6, 1, out)
        _write(int(seconds) if seconds.is_integer() else seconds, out)
    elif isinstance(value, decimal.Decimal):
        sign, digits, exponent = value.as_tuple()
        _head(6, 4, out)
        _write([exponent, int("".join(map(str, digits))) * (-1 if sign else 1)], out)
    elif isinstance(value, (list, tuple)):
        _head(4, len(value), out)
        for item in value:
            _write(item, out)
    elif isinstance(value, dict):
        _head(5, len(value), out)
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"a key that is no text: {key!r}")
            _write(key, out)
            _write(item, out)
    else:
        raise TypeError(f"no value of the protocol: {value!r}")


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        end = self.at + count
        if end > len(self.data):
            raise Malformed("the item ends too early")
        part = self.data[self.at:end]
        self.at = end
        return part

    def value(self, depth):
        if depth > MAXIMUM_DEPTH:
            raise Malformed("too many levels")
        first = self.take(1)[0]
        kind, low = first >> 5, first & 31
        if kind == 7:
            return self.simple(low)
        if low < 24:
            number = low
        elif low < 28:
            number = int.from_bytes(self.take(1 << (low - 24)), "big")
        else:
            raise Malformed("a length that is not given")
        if kind == 0:
            return number
        if kind == 1:
            return -1 - number
        if kind == 2:
            return bytes(self.take(number))
        if kind == 3:
            return self.text(number)
        if kind == 4:
            return self.list(number, depth)
        if kind == 5:
            return self.map(number, depth)
        return self.tagged(number, self.value(depth + 1))

    def text(self, length):
        try:
            return self.take(length).decode()
        except UnicodeDecodeError:
            raise Malformed("a text that is no UTF-8") from None

    def list(self, count, depth):
        found = []
        for _ in range(count):
            found.append(self.value(depth + 1))
        return found

    def map(self, count, depth):
        found = {}
        for _ in range(count):
            key = self.value(depth + 1)
            if not isinstance(key, str) or key in found:
                raise Malformed("a key that is no text, or comes twice")
            found[key] = self.value(depth + 1)
        return found

    def simple(self, low):
        known = {20: False, 21: True, 22: None}
        if low in known:
            return known[low]
        formats = {25: (">e", 2), 26: (">f", 4), 27: (">d", 8)}
        if low not in formats:
            raise Malformed("a simple value that is not known")
        form, size = formats[low]
        return struct.unpack(form, self.take(size))[0]

    def tagged(self, tag, value):
        try:
            if tag == 0:
                return _date(value)
            if tag == 1:
                return _date_of_seconds(value)
            if tag in (2, 3):
                number = int.from_bytes(value, "big")
                return number if tag == 2 else -1 - number
            if tag == 4:
                exponent, mantissa = value
                return decimal.Decimal(mantissa).scaleb(exponent)
        except (ArithmeticError, AttributeError, TypeError, ValueError):
            raise Malformed(f"a wrong value of the tag {tag}") from None
        raise Malformed(f"the tag {tag} is not known")
