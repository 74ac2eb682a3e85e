"""Reads header blocks of HTTP/2: HPACK (RFC 7541) with both tables and the Huffman code.

Not called `hpack`: the library h2 of Tests/Scanners imports a package of that name.
"""

# Bits of the code of each symbol, 0 to 256 (appendix B), as letters: A is 0, Z 25, a 26. The code is canonical: among
# codes of one length the symbols ascend, and a longer code follows the shorter ones.
LENGTHS = (
    "NXcccccccYecceccccccccecccccccccGKKMNGILKKILIGGGFFFGGGGGGGHIPGMKNGHHHHHHHHHHHHHHHHHHHHHHIHINTNOGPFGFGFGGGFHHGGGFGH"
    "GFFGHHHHHPLONcUWUUWWWXWXXXXXYXYYWXYXXXXVWXWXXYWVUWWXXVXWWYVWXXVVWVXWXXUWWWXWWXaaUTWXWZaaabbaYZTVabbabYVVaacbbbUYUVWV"
    "VXWWZZYYaXabaabbbbbcbbbbbae")

STATIC = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
] + [(name, "") for name in (
    "accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control "
    "content-disposition content-encoding content-language content-length content-location content-range content-type "
    "cookie date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since "
    "last-modified link location max-forwards proxy-authenticate proxy-authorization range referer refresh retry-after "
    "server set-cookie strict-transport-security transfer-encoding user-agent vary via www-authenticate").split()]


def _codes():
    lengths = [ord(letter) - 65 if letter <= "Z" else ord(letter) - 97 + 26 for letter in LENGTHS]
    codes, code, before = {}, 0, 0
    for symbol in sorted(range(257), key=lambda symbol: (lengths[symbol], symbol)):
        code <<= lengths[symbol] - before
        before = lengths[symbol]
        codes[before, code] = symbol
        code += 1
    return codes


CODES = _codes()


def unfold(data):
    """A text in the Huffman code; what is left over is padding."""
    out, code, length = bytearray(), 0, 0
    for byte in data:
        for bit in range(7, -1, -1):
            code, length = code << 1 | byte >> bit & 1, length + 1
            if (symbol := CODES.get((length, code))) is not None:
                out.append(symbol)
                code = length = 0
    return bytes(out)


class Table:
    """One connection's dynamic table; its size is the usual 4,096 bytes."""

    def __init__(self):
        self.entries, self.limit = [], 4096

    def read(self, data):
        self.data, self.place, fields = data, 0, []
        while self.place < len(data):
            first = data[self.place]
            if first & 0x80:
                fields.append(self.entry(self.integer(7)))
            elif first & 0x40:
                fields.append(self.field(6))
                self.add(fields[-1])
            elif first & 0x20:
                self.limit = self.integer(5)
                self.fit()
            else:
                fields.append(self.field(4))
        return fields

    def field(self, bits):
        index = self.integer(bits)
        name = self.entry(index)[0] if index else self.text()
        return name, self.text()

    def entry(self, index):
        return STATIC[index - 1] if index <= len(STATIC) else self.entries[index - len(STATIC) - 1]

    def add(self, field):
        self.entries.insert(0, field)
        self.fit()

    def fit(self):
        while sum(len(name) + len(value) + 32 for name, value in self.entries) > self.limit:
            self.entries.pop()

    def integer(self, bits):
        most = (1 << bits) - 1
        value = self.data[self.place] & most
        self.place += 1
        shift = 0
        while value >= most:
            byte = self.data[self.place]
            self.place += 1
            value += (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        return value

    def text(self):
        is_folded = self.data[self.place] & 0x80
        size = self.integer(7)
        data = self.data[self.place:self.place + size]
        self.place += size
        return (unfold(data) if is_folded else data).decode("latin-1")
