import AdapterKit
import Testing
import WireFormats

@Suite struct CBORTests {
    private let format = CBORFormat()

    /// From RFC 8949, appendix A, where encoding and decoding are the same bytes.
    static let examples: [(hex: String, value: WireValue)] = [
        ("00", 0), ("17", 23), ("1818", 24), ("1903e8", 1000), ("1a000f4240", 1_000_000),
        ("1b000000e8d4a51000", 1_000_000_000_000), ("1bffffffffffffffff", .uint64(.max)), ("20", -1), ("3903e7", -1000),
        ("c249010000000000000000", .decimal(WireDecimal("18446744073709551616")!)),
        ("3bffffffffffffffff", .decimal(WireDecimal("-18446744073709551616")!)),
        ("c349010000000000000000", .decimal(WireDecimal("-18446744073709551617")!)),
        ("f90000", .double(0)), ("f98000", .double(-0.0)), ("f93c00", .double(1)), ("fb3ff199999999999a", .double(1.1)),
        ("f97bff", .double(65504)), ("fa47c35000", .double(100_000)), ("f90001", .double(5.960464477539063e-8)),
        ("f90400", .double(0.00006103515625)), ("f9c400", .double(-4)), ("fb7e37e43c8800759c", .double(1e300)),
        ("f97c00", .double(.infinity)), ("f97e00", .double(.nan)), ("f9fc00", .double(-.infinity)),
        ("f4", false), ("f5", true), ("f6", .null), ("c11a514b67b0", .date(WireDate(secondsSince1970: 1_363_896_240))),
        (
            "c0781c323032362d30362d32345431323a35373a34342e373537303837345a",
            .date(WireDate(rfc3339: "2026-06-24T12:57:44.7570874Z")!)
        ),
        ("40", .data([])), ("4401020304", .data([1, 2, 3, 4])), ("60", ""), ("62c3bc", "ü"),
        ("64f0908591", "\u{10151}"),
        ("80", []), ("83010203", [1, 2, 3]), ("a0", [:]), ("a26161016162820203", ["a": 1, "b": [2, 3]]),
        ("c48221196ab3", .decimal(WireDecimal("273.15")!)),
    ]

    @Test(arguments: examples) func `the examples of the standard hold both ways`(hex: String, value: WireValue) throws
    {
        #expect(try format.read(bytes(hex)) == value)
        #expect(try format.write(value) == bytes(hex))
    }

    static let otherForms: [(hex: String, value: WireValue)] = [
        ("9fff", []), ("9f018202039f0405ffff", [1, [2, 3], [4, 5]]),
        ("bf61610161629f0203ffff", ["a": 1, "b": [2, 3]]),
        ("5f42010243030405ff", .data([1, 2, 3, 4, 5])), ("7f657374726561646d696e67ff", "streaming"), ("7fff", ""),
        ("d9d9f7f6", .null), ("c241ff", 255), ("1b0000000000000001", 1),
        ("c1fb41d452d9ec200000", .date(WireDate(secondsSince1970: 1_363_896_240.5))),
        ("c074323031332d30332d32315432303a30343a30305a", .date(WireDate(secondsSince1970: 1_363_896_240))),
    ]

    @Test(arguments: otherForms) func `other well-formed encodings are read`(hex: String, value: WireValue) throws {
        #expect(try format.read(bytes(hex)) == value)
    }

    @Test(arguments: [
        "", "18", "1b00", "1c", "1f", "3f", "41", "61", "5b7fffffffffffffff", "61ff", "62c328", "81", "9f", "a161",
        "a1", "bf6161ff",
        "0000", "ff", "5f6161ff", "5f5fffff", "7f4161ff", "f800", "f81f", "fc", "c0", "c061", "c06161", "c1", "c16161",
        "c1f97c00", "c201", "c4", "c480", "c482f601", "c48201f6", "9bffffffffffffffff", "bbffffffffffffffff", "df",
        "d9d9f7",
    ])
    func `what is not well-formed is malformed`(hex: String) {
        #expect { try format.read(bytes(hex)) } throws: { ($0 as? WireFormatError)?.kind == .malformed }
    }

    @Test(arguments: [
        "f7", "e0", "f8ff", "a10101", "d82076687474703a2f2f7777772e6578616d706c652e636f6d", "d9d9f7d9d9f700",
    ])
    func `what has no place in the tree is refused`(hex: String) {
        #expect { try format.read(bytes(hex)) } throws: { ($0 as? WireFormatError)?.kind == .refused }
    }

    @Test func `a number of too many digits is a limit, not a hang`() {
        let bytes = bytes("c25a00100000") + [UInt8](repeating: 0xFF, count: 1 << 20)
        #expect { try format.read(bytes) } throws: { ($0 as? WireFormatError)?.kind == .limitExceeded }
    }

    private func bytes(_ hex: String) -> [UInt8] {
        stride(from: 0, to: hex.utf8.count, by: 2).map { at in
            UInt8(hex.dropFirst(at).prefix(2), radix: 16)!
        }
    }

    @Test(arguments: [-0x1p63, 0x1p63, -0x1p53, 0x1p53, 1e300, -1e300, -0.0])
    func `a date at the ends of all numbers is written exactly or refused`(seconds: Double) {
        let date = WireValue.date(WireDate(secondsSinceReferenceDate: seconds))
        guard let bytes = try? CBORFormat().write(date) else { return }
        #expect(throws: Never.self) {
            let read = try CBORFormat().read(bytes)
            #expect(read == date || seconds == 0)
        }
    }
}
