import AdapterKit
import Testing
import WireFormats

private let text = "é😀日本"

private func utf16(_ text: String, bigEndian: Bool, mark: Bool = true) -> [UInt8] {
    ((mark ? "\u{FEFF}" : "") + text).utf16.flatMap { unit in
        bigEndian ? [UInt8(unit >> 8), UInt8(unit & 255)] : [UInt8(unit & 255), UInt8(unit >> 8)]
    }
}

private func latin1(_ text: String) -> [UInt8] { text.unicodeScalars.map { UInt8($0.value) } }

private func read(_ document: [UInt8], charset: String? = nil) throws -> WireValue {
    try XMLFormat().readTape(document, charset: charset, limits: ReadingLimits()).value()
}

@Suite struct XMLEncodingTests {
    @Test(arguments: ["", "<?xml version='1.0'?>", "<?xml version='1.0' encoding='UTF-16'?>"])
    func `UTF-16 with a byte order mark is read in both orders`(declaration: String) throws {
        for bigEndian in [true, false] {
            let document = utf16("\(declaration)<a>\(text)</a>", bigEndian: bigEndian)
            #expect(try read(document) == .string(text))
        }
    }

    @Test func `UTF-8 is read with and without a byte order mark`() throws {
        #expect(try read(Array("\u{FEFF}<a>\(text)</a>".utf8)) == .string(text))
        #expect(try read(Array("\u{FEFF}<?xml version='1.0' encoding='utf-8'?><a>\(text)</a>".utf8)) == .string(text))
    }

    @Test func `ISO-8859-1 and US-ASCII are read where they are declared`() throws {
        #expect(try read(latin1("<?xml version='1.0' encoding='ISO-8859-1'?><a>é</a>")) == "é")
        #expect(try read(latin1("<?xml version='1.0' encoding='US-ASCII'?><a>e</a>")) == "e")
        #expect(throws: WireFormatError.self) { try read(latin1("<?xml version='1.0' encoding='US-ASCII'?><a>é</a>")) }
        #expect(throws: WireFormatError.self) { try read(latin1("<a>é</a>")) }
    }

    @Test func `a media type's charset overrides the declaration, a byte order mark both`() throws {
        #expect(try read(latin1("<?xml version='1.0' encoding='UTF-8'?><a>é</a>"), charset: "iso-8859-1") == "é")
        #expect(try read(utf16("<a>é</a>", bigEndian: true), charset: "utf-8") == "é")
        #expect(try read(utf16("<a>é</a>", bigEndian: true, mark: false), charset: "utf-16") == "é")
    }

    @Test(arguments: [
        Array("\u{FEFF}<?xml version='1.0' encoding='UTF-16'?><a/>".utf8),
        Array("<?xml version='1.0' encoding='UTF-16'?><a/>".utf8),
        utf16("<?xml version='1.0' encoding='UTF-8'?><a/>", bigEndian: false),
        utf16("<a/>", bigEndian: true) + [0], [0xFE, 0xFF, 0xD8, 0x00], [0xFE, 0xFF, 0xDC, 0x00, 0, 0x3C],
        [UInt8]("<a>".utf8) + [0xC0, 0x80] + [UInt8]("</a>".utf8), [UInt8]("<a>".utf8) + [0xED, 0xA0, 0x80],
    ])
    func `bytes that are not in their encoding are refused`(document: [UInt8]) throws {
        let error = try #require(throws: WireFormatError.self) { try read(document) }
        #expect(error.kind == .malformed && error.position != nil)
    }

    @Test(arguments: ["", "8bit", "-x", "@x", "[x", "`x", "{x", "é", "u:8", "utf 8", "utf-8<"])
    func `an encoding's name begins with a letter and goes on with letters, digits and a few signs`(name: String) throws
    {
        let error = try #require(throws: WireFormatError.self) {
            try read(Array("<?xml version='1.0' encoding='\(name)'?><a/>".utf8))
        }
        #expect(error.kind == .malformed)
    }

    @Test(arguments: ["EUC-JP", "UTF-7", "windows-1252", "a", "A", "z", "Z", "x-9._"])
    func `an unknown encoding is refused as such`(name: String) throws {
        let error = try #require(throws: WireFormatError.self) {
            try read(Array("<?xml version='1.0' encoding='\(name)'?><a/>".utf8))
        }
        #expect(error.kind == .refused)
    }
}
