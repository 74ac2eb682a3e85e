import AdapterKit
import HTTPTypes
import Testing

@testable import Gateway

@Suite struct EncodingTests {
    @Test func `a date field is the format of RFC 9110 and back`() {
        let date = WireDate(secondsSince1970: 784_111_777)
        #expect(HTTPDate.text(date) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.date("Sun, 06 Nov 1994 08:49:37 GMT", now: date) == date)
        #expect(HTTPDate.text(WireDate(secondsSinceReferenceDate: -1)) == "Sun, 31 Dec 2000 23:59:59 GMT")
        #expect(HTTPDate.date("yesterday", now: date) == nil)
    }

    @Test(arguments: [
        ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37Z"),
        ("Sat Nov 16 08:49:37 2024", "2024-11-16T08:49:37Z"),
        ("Thursday, 01-Jan-76 00:00:00 GMT", "2076-01-01T00:00:00Z"),
        ("Saturday, 01-Jan-77 00:00:00 GMT", "1977-01-01T00:00:00Z"),
        ("Monday, 01-Jan-00 00:00:00 GMT", "2000-01-01T00:00:00Z"),
        ("Sunday, 06-Nov--4 08:49:37 GMT", nil), ("Sunday, 06-Nov-1994 08:49:37 GMT", nil), ("Sun Nov 6 08:49:37", nil),
        ("Sunday, 06--94 08:49:37 GMT", nil), ("Sun Nox  6 08:49:37 1994", nil), ("a b c d", nil),
        ("a b-c-99 d GMT", nil),
        ("Sunday, 06-Nov-+4 08:49:37 GMT", nil),
    ])
    func `the obsolete date forms are read, a year of two digits at most 50 years ahead`(
        field: String, date: String?
    ) throws {
        let now = try #require(WireDate(rfc3339: "2026-11-22T00:00:00Z"))
        #expect(HTTPDate.date(field, now: now) == date.flatMap { WireDate(rfc3339: $0) })
    }

    @Test func `a gzip body may have several members, and not more than the limit`() throws {
        let one = try #require(Deflate.compress(Array("member ".utf8), as: .gzip))
        let three = one + one + one
        #expect(try Deflate.expand(three, from: .gzip, limit: 21) == Array("member member member ".utf8))
        #expect(throws: Deflate.Failure.tooLarge) { try Deflate.expand(three, from: .gzip, limit: 20) }
        #expect(throws: Deflate.Failure.malformed) { try Deflate.expand(three + [0], from: .gzip, limit: 100) }
        let most = Array(repeatElement(one, count: Deflate.memberLimit).joined())
        #expect(try Deflate.expand(most, from: .gzip, limit: 1 << 20).count == 7 * Deflate.memberLimit)
        #expect(throws: Deflate.Failure.malformed) { try Deflate.expand(most + one, from: .gzip, limit: 1 << 20) }
        let zlib = try #require(Deflate.compress(Array("one".utf8), as: .zlib))
        #expect(throws: Deflate.Failure.malformed) { try Deflate.expand(zlib + zlib, from: .zlib, limit: 100) }
    }

    @Test func `text that stands for lists and objects in XML without types becomes them`() {
        let shape = Shape.object(
            ObjectShape(
                "Sample", isOpen: true,
                members: [
                    Member("names", .list(of: .string)),
                    Member("fields", .object(ObjectShape("Open", isOpen: true, members: []))),
                    Member(
                        "rows",
                        .list(of: .object(ObjectShape("Row", isOpen: true, members: [Member("number", .integer)])))),
                ]))
        func coerced(_ value: WireValue, _ coercion: Coercion = .textual) -> WireValue {
            coercion.coerce(value, to: shape)
        }
        #expect(coerced(["names": "a"]) == ["names": ["a"]])
        #expect(coerced(["names": ""]) == ["names": []])
        #expect(coerced(["names": ["item": "a"]]) == ["names": ["a"]])
        #expect(coerced(["names": ["item": ["a", "b"]]]) == ["names": ["a", "b"]])
        #expect(coerced(["rows": ["item": ["number": "1"]]]) == ["rows": [["number": 1]]])
        #expect(coerced(["rows": ["number": "1"]]) == ["rows": [["number": 1]]])
        #expect(coerced(["rows": ["number": " 1"]]) == ["rows": [["number": " 1"]]], "of a form")
        #expect(coerced(["rows": ["number": "\r\n\t 1 "]], .xml) == ["rows": [["number": 1]]])
        #expect(coerced(["names": " a "], .xml) == ["names": [" a "]], "a text keeps its white space")
        #expect(coerced(["fields": ""]) == ["fields": [:]])
        #expect(coerced(["names": ["item": "a"], "fields": ""], .typed) == ["names": ["item": "a"], "fields": ""])
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
        ("gzip;q=0.5, identity;q=1", nil), ("gzip, identity", .gzip), ("identity;q=0.5, gzip;q=1", .gzip),
        ("gzip;q=0.5, *;q=0.1", .gzip), ("gzip;q=0, *", .deflate), ("x-gzip", .gzip), ("gzip;q=nan", nil),
    ])
    func `a content coding is negotiated by weight`(field: String?, coding: ContentCoding?) {
        #expect(ContentCoding.negotiate(field) == coding)
    }

    @Test(arguments: ["W/\"42-json\"", "W/\"42\"", "W/*"])
    func `a weak tag is no precondition of a change`(field: String) {
        #expect(throws: PorticoError.self) { try Preconditions([.ifMatch: field]).condition() }
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
