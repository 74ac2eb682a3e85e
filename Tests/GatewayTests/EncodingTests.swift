import AdapterKit
import HTTPTypes
import Testing

@testable import Gateway

@Suite struct EncodingTests {
    @Test func `a date field is the format of RFC 9110 and back`() {
        let date = WireDate(secondsSince1970: 784_111_777)
        #expect(HTTPDate.text(date) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.date("Sun, 06 Nov 1994 08:49:37 GMT") == date)
        #expect(HTTPDate.text(WireDate(secondsSinceReferenceDate: -1)) == "Sun, 31 Dec 2000 23:59:59 GMT")
        #expect(HTTPDate.date("yesterday") == nil)
    }

    @Test(arguments: [Deflate.Container.gzip, .zlib], [0, 1, 100_000])
    func `what was compressed expands to itself`(container: Deflate.Container, size: Int) throws {
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) }
        let compressed = try #require(Deflate.compress(bytes, as: container))
        #expect(try Deflate.expand(compressed, from: container, limit: size) == bytes)
        #expect(throws: Deflate.Failure.malformed) {
            try Deflate.expand(Array(compressed.dropLast()), from: container, limit: size + 1)
        }
        #expect(throws: Deflate.Failure.malformed) {
            try Deflate.expand(compressed + [0], from: container, limit: size)
        }
    }

    @Test func `expansion stops at its limit`() throws {
        let bomb = try #require(Deflate.compress([UInt8](repeating: 0, count: 10 << 20), as: .gzip))
        #expect(throws: Deflate.Failure.tooLarge) { try Deflate.expand(bomb, from: .gzip, limit: 1 << 20) }
    }

    @Test(arguments: [
        (nil, nil), ("", nil), ("gzip", ContentCoding.gzip), ("deflate, gzip", .gzip), ("gzip;q=0, deflate", .deflate),
        ("*", .gzip), ("identity", nil), ("gzip;q=0", nil), ("gzip;q=0.5, deflate;q=0.9", .deflate), ("br", nil),
    ])
    func `a content coding is negotiated by weight`(field: String?, coding: ContentCoding?) {
        #expect(ContentCoding.negotiate(field) == coding)
    }

    @Test func `entity tags are compared without W and a precondition reads the revision alone`() throws {
        #expect(Array(EntityTagList("W/\"a\", \"b-json\" ,*")) == ["\"a\"", "\"b-json\"", "*"])
        #expect(try Preconditions([.ifMatch: "\"42-plist-gzip\""]).condition() == .revision(Revision(42)))
        #expect(try Preconditions([.ifMatch: "*"]).condition() == .exists)
        #expect(try Preconditions([.ifNoneMatch: "*"]).condition() == .absent)
        #expect(try Preconditions([:]).condition() == .none)
        #expect(throws: PorticoError.self) { try Preconditions([.ifMatch: "\"foreign\""]).condition() }
    }

    @Test func `every code has a status that is an error`() {
        for code in ErrorCode.allCases { #expect((400...599).contains(code.status.code), "\(code)") }
    }
}
