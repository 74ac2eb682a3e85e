import AdapterKit
import Testing

@Suite struct CharacterSetDecoderTests {
    @Test(arguments: [
        ("text/plain; charset=ISO-8859-1", "ISO-8859-1"), ("text/plain;CHARSET=\"utf-8\"", "utf-8"),
        ("text/xml; a=b ; charset = latin1", "latin1"), ("text/plain", nil), ("charset=x", nil), ("", nil),
    ])
    func `the character set is the parameter of the content type`(type: String, name: String?) {
        #expect(CharacterSetDecoder.name(inContentType: type) == name)
    }

    @Test func `every byte of every single-byte set becomes one character`() throws {
        for name in ["windows-1252", "ISO-8859-1", "us-ascii", "iso-8859-15"] {
            var decoder = try #require(CharacterSetDecoder(name))
            let text = String(decoding: decoder.decode((0...255).map { UInt8($0) }, isLast: true), as: UTF8.self)
            #expect(text.unicodeScalars.count == 256)
            #expect(text.unicodeScalars.prefix(128).map(\.value) == Array(0...127))
            #expect(text.contains("€") && text.contains("ü"))
        }
    }

    @Test func `UTF-16 is the same wherever it is cut`() throws {
        let text = "Aü€😀\u{FFFD}z"
        for (name, isBigEndian, mark) in [
            ("utf-16", true, true), ("utf-16", false, true), ("utf-16", true, false), ("utf-16le", false, false),
            ("UTF-16BE", true, false),
        ] {
            let units = (mark ? [0xFEFF] : []) + Array(text.utf16)
            let bytes = units.flatMap { unit in
                let pair = [UInt8(truncatingIfNeeded: unit >> 8), UInt8(truncatingIfNeeded: unit)]
                return isBigEndian ? pair : pair.reversed()
            }
            for first in 0...bytes.count {
                for second in first...bytes.count {
                    var decoder = try #require(CharacterSetDecoder(name))
                    let decoded =
                        decoder.decode(Array(bytes[..<first])) + decoder.decode(Array(bytes[first..<second]))
                        + decoder.decode(Array(bytes[second...])) + decoder.decode([], isLast: true)
                    #expect(String(decoding: decoded, as: UTF8.self) == text, "\(name) cut at \(first), \(second)")
                }
            }
        }
    }

    @Test func `what ends within a character is U+FFFD`() throws {
        for (bytes, expected) in [
            ([0x00], "\u{FFFD}"), ([0, 0x41, 0], "A\u{FFFD}"), ([0xD8, 0x3D], "\u{FFFD}"), ([], ""),
        ]
            as [([UInt8], String)]
        {
            var decoder = try #require(CharacterSetDecoder("utf-16be"))
            #expect(String(decoding: decoder.decode(bytes, isLast: true), as: UTF8.self) == expected)
        }
    }

    @Test func `an unknown set has no decoder`() {
        for name in ["", "klingon", "utf-7", "utf-32"] { #expect(CharacterSetDecoder(name) == nil) }
    }
}
