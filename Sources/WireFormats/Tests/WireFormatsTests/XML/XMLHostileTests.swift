import AdapterKit
import Testing
import WireFormatTesting
import WireFormats

private let foreign = """
    <?xml version="1.0" encoding="UTF-8"?>
    <!-- c --><?p x?><u:a xmlns:u="urn:x" u:b="1 &amp; 2" c='é'>t<![CDATA[<x>]]>&#65;<d/><d>e</d> mixed <u:f xml:lang="en"/>
    </u:a><!-- end -->
    """

private func outcome(_ document: [UInt8], _ root: XMLFormat.UntypedRoot) throws -> WireValue? {
    let limits = ReadingLimits(depth: 64, values: 20_000, expandedBytes: 1 << 20)
    do throws(WireFormatError) {
        return try XMLFormat(untypedRoot: root).read(document, limits: limits)
    } catch {
        #expect(error.position != nil)
        return nil
    }
}

@Suite struct XMLHostileTests {
    @Test func `every truncation of a foreign document is refused`() throws {
        let document = Array(foreign.utf8)
        let end = foreign.utf8.count - "<!-- end -->".utf8.count
        for count in 0..<end { #expect(try outcome(Array(document.prefix(count)), .named) == nil, "\(count)") }
    }

    @Test func `flipped bits and foreign bytes never break a reader`() throws {
        var random = SeededRandom(seed: 5)
        let wide: [UInt8] = foreign.utf16.reduce(into: [0xFE, 0xFF]) { $0 += [UInt8($1 >> 8), UInt8($1 & 255)] }
        for document in [Array(foreign.utf8), wide] {
            for _ in 0..<5_000 {
                var damaged = document
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    let place = Int.random(in: 0..<damaged.count, using: &random)
                    damaged[place] = UInt8.random(in: 0...255, using: &random)
                }
                _ = try outcome(damaged, .content)
                _ = try? XMLPropertyListFormat().read(damaged)
            }
        }
    }

    @Test func `an entity bomb is refused at its DOCTYPE, before anything is expanded`() throws {
        let entities = (1...30).map { "<!ENTITY e\($0) \"\(String(repeating: "&e\($0 - 1);", count: 10))\">" }.joined()
        for head in ["", "<?xml version='1.0'?><!-- c -->"] {
            let bomb = "\(head)<!DOCTYPE a [<!ENTITY e0 \"ha\">\(entities)]><a>&e30;</a>"
            for format in [XMLFormat(), XMLPropertyListFormat()] as [any WireFormat] {
                let error = try #require(throws: WireFormatError.self) { try format.read(Array(bomb.utf8)) }
                #expect(error.kind == .refused)
            }
        }
    }

    @Test func `many pieces, names and siblings take time in proportion`() throws {
        let pieces = "<a>" + String(repeating: "x<!---->", count: 200_000) + "</a>"
        #expect(try outcome(Array(pieces.utf8), .content) == .string(String(repeating: "x", count: 200_000)))
        let namespaces = "<a>" + (0..<9_000).map { "<b xmlns='u\($0)'/>" }.joined() + "</a>"
        #expect(try outcome(Array(namespaces.utf8), .content)?.dictionaryValue?.count == 9_000)
        let attributes =
            "<a>" + String(repeating: "<b \((0..<1_500).map { "a\($0)=''" }.joined(separator: " "))/>", count: 5)
            + "</a>"
        #expect(try outcome(Array(attributes.utf8), .content)?["b"]?.arrayValue?.count == 5)
    }

    @Test func `a huge attribute and a huge text are held to the limit of bytes`() throws {
        let long = String(repeating: "x", count: 2 << 20)
        for document in ["<a b='\(long)'/>", "<a>\(long)</a>", "<a><b>\(long)</b>&amp;</a>"] {
            #expect(try outcome(Array(document.utf8), .content) == nil)
        }
    }

    @Test func `a million open elements are refused early`() throws {
        let deep = Array(String(repeating: "<a>", count: 1_000_000).utf8)
        for format in [XMLFormat(), XMLPropertyListFormat()] as [any WireFormat] {
            #expect(throws: WireFormatError.self) { try format.read(deep) }
        }
        let plist = Array(("<plist>" + String(repeating: "<array>", count: 1_000_000)).utf8)
        let error = try #require(throws: WireFormatError.self) { try XMLPropertyListFormat().read(plist) }
        #expect(error.kind == .limitExceeded)
    }
}
