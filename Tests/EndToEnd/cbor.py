"""A small reader and writer of CBOR (RFC 8949), enough to check the gateway's from outside: definite lengths only."""

import struct
from decimal import Decimal

_FLOATS = {25: (">e", 2), 26: (">f", 4), 27: (">d", 8)}
_SIMPLE = {20: False, 21: True, 22: None, 23: None}


def dumps(value):
    if value is None or isinstance(value, bool):
        return {None: b"\xf6", False: b"\xf4", True: b"\xf5"}[value]
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if isinstance(value, float):
        return b"\xfb" + struct.pack(">d", value)
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    if isinstance(value, str):
        return _head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return _head(4, len(value)) + b"".join(map(dumps, value))
    return _head(5, len(value)) + b"".join(dumps(key) + dumps(value[key]) for key in value)


def loads(data):
    """The one value of `data`; ValueError or IndexError for anything else."""
    value, end = _item(data, 0)
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes follow the value")
    return value


def _head(major, number):
    for code, form in [(24, ">B"), (25, ">H"), (26, ">I"), (27, ">Q")]:
        if number < 24:
            return bytes([major << 5 | number])
        if number < 1 << 8 * struct.calcsize(form):
            return bytes([major << 5 | code]) + struct.pack(form, number)
    raise ValueError(number)


def _item(data, at):
    major, extra = data[at] >> 5, data[at] & 31
    if major == 7:
        return _simple(data, at + 1, extra)
    number, at = _number(data, at + 1, extra)
    if major < 2:
        return (number if major == 0 else -1 - number), at
    if major < 4:
        content = data[at:at + number]
        if len(content) < number:
            raise ValueError("ends too early")
        return (content if major == 2 else content.decode("utf-8")), at + number
    if major == 6:
        content, at = _item(data, at)
        return _tagged(number, content), at
    items = []
    for _ in range(number * (major - 3)):
        item, at = _item(data, at)
        items.append(item)
    return (items if major == 4 else dict(zip(items[::2], items[1::2]))), at


def _tagged(tag, content):
    """Large integers and decimals; other tags say nothing that their content does not."""
    if tag == 2:
        return int.from_bytes(content, "big")
    if tag == 3:
        return -1 - int.from_bytes(content, "big")
    if tag == 4:
        exponent, digits = content
        return Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), exponent))
    return content


def _simple(data, at, extra):
    if extra in _FLOATS:
        form, size = _FLOATS[extra]
        return struct.unpack(form, data[at:at + size])[0], at + size
    return _SIMPLE[extra], at


def _number(data, at, extra):
    if extra < 24:
        return extra, at
    size = {24: 1, 25: 2, 26: 4, 27: 8}[extra]
    return int.from_bytes(data[at:at + size], "big"), at + size
