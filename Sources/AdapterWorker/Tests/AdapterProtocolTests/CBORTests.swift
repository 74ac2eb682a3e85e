import AdapterKit
import AdapterProtocol
import Testing

@Suite struct `CBOR between host and worker` {
    private func encoded(_ value: WireValue) throws -> [UInt8] {
        var encoder = CBOREncoder()
        try encoder.append(value)
        return encoder.bytes
    }

    private func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = Array(hexadecimal)
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    }

    /// RFC 8949, appendix A.
    @Test(
        arguments: [
            ("00", 0), ("17", 23), ("1818", 24), ("1903e8", 1000), ("1a000f4240", 1_000_000),
            ("1b7fffffffffffffff", .int64(.max)), ("1bffffffffffffffff", .uint64(.max)), ("20", -1), ("3863", -100),
            ("3b7fffffffffffffff", .int64(.min)), ("f4", false), ("f5", true), ("f6", .null),
            ("fb3ff199999999999a", 1.1), ("4401020304", .data([1, 2, 3, 4])), ("62c3bc", "\u{fc}"),
            ("83010203", [1, 2, 3]), ("a26161016162820203", ["a": 1, "b": [2, 3]]), ("80", []), ("a0", [:]),
            ("c11a514b67b0", .date(WireDate(secondsSince1970: 1_363_896_240))),
            (
                "c0781c323032362d30362d32345431323a35373a34342e373537303837345a",
                .date(WireDate(rfc3339: "2026-06-24T12:57:44.7570874Z")!)
            ),
        ] as [(String, WireValue)])
    func `is written and read as the specification says`(hexadecimal: String, value: WireValue) throws {
        #expect(try CBORDecoder.value(of: bytes(hexadecimal)) == value)
        #expect(try encoded(value) == bytes(hexadecimal))
    }

    @Test(
        arguments: [
            ("f90001", .double(0x1p-24)), ("f93c00", 1.0), ("f97c00", .double(.infinity)), ("fa47c35000", 100_000.0),
            ("5f42010243030405ff", .data([1, 2, 3, 4, 5])), ("7f657374726561646d696e67ff", "streaming"),
            ("9f018202039f0405ffff", [1, [2, 3], [4, 5]]), ("bf61610161629f0203ffff", ["a": 1, "b": [2, 3]]),
            ("c249010000000000000000", .decimal(WireDecimal("18446744073709551616")!)),
            ("c349010000000000000000", .decimal(WireDecimal("-18446744073709551617")!)),
            ("3bffffffffffffffff", .decimal(WireDecimal("-18446744073709551616")!)),
            ("c48221196ab3", .decimal(WireDecimal("273.15")!)), ("c24101", 1),
            ("c074323031332d30332d32315432303a30343a30305a", .date(WireDate(secondsSince1970: 1_363_896_240))),
        ] as [(String, WireValue)])
    func `is read in its other forms too`(hexadecimal: String, value: WireValue) throws {
        #expect(try CBORDecoder.value(of: bytes(hexadecimal)) == value)
    }

    @Test(
        arguments: [
            "", "18", "1c", "ff", "1f", "3f", "5b7fffffffffffffff", "9b7fffffffffffffff", "bb7fffffffffffffff",
            "0001", "61ff", "a10101", "a2616101616102", "f7", "f0", "f818", "c0", "5f6161ff", "5f5f4101ffff",
            "c06161", "c48201f6", "d9d9f700", "c1fb7ff0000000000000", "c41903e8", "7f61c361a9ff00",
            // A key twice: with a longer head, in chunks, and where the map before had the first of them.
            "a261610178016102", "a26161017f6161ff02", "82a2616101616202a2616101616102",
        ])
    func `is refused where it is malformed, or has no meaning`(hexadecimal: String) {
        #expect(throws: MessageError.self) { try CBORDecoder.value(of: bytes(hexadecimal)) }
    }

    @Test func `has limits of depth and items`() {
        #expect(throws: MessageError.self) {
            try CBORDecoder.value(of: Array(repeating: 0x81, count: 100_000) + [0])
        }
        #expect(throws: MessageError.self) { try CBORDecoder.value(of: Array(repeating: 0xC1, count: 100_000) + [0]) }
        var limits = CBORLimits()
        limits.items = 100
        #expect(throws: MessageError.self) {
            try CBORDecoder.value(of: [0x98, 120] + Array(repeating: 0, count: 120), limits: limits)
        }
        #expect(throws: MessageError.self) {
            try CBORDecoder.value(of: [0x9A, 0x7F, 0xFF, 0xFF, 0xFF] + Array(repeating: 0, count: 120))
        }
        // A number of so many digits that the work with them would be quadratic.
        #expect(throws: MessageError.self) {
            try CBORDecoder.value(of: [0xC2, 0x5A, 0, 1, 0, 0] + Array(repeating: 0xFF, count: 1 << 16))
        }
    }

    @Test func `takes no memory for what each of many levels claims to hold`() throws {
        // Arrays within each other, each of which claims to hold all that follows.
        let head: [UInt8] = [0x9A, 0x00, 0x02, 0x00, 0x00]
        let bytes = (0..<400).flatMap { _ in head } + [UInt8](repeating: 0x01, count: 140_000)
        #expect(throws: MessageError.self) { try CBORDecoder.value(of: bytes) }
    }

    @Test func `cannot carry a keyed archiver's reference`() {
        #expect(throws: MessageError.self) { try encoded(.uid(1)) }
    }

    @Test func `keeps every value of 10,000 generated ones`() throws {
        var random = SeededRandom(seed: 27)
        for _ in 0..<10_000 {
            let value = Self.value(&random, depth: 0)
            #expect(try CBORDecoder.value(of: try encoded(value)) == value)
        }
    }

    /// Whatever bytes arrive, reading them ends with a value or an error.
    @Test func `survives 50,000 random and mutated items`() throws {
        var random = SeededRandom(seed: 2_711)
        var (values, errors) = (0, 0)
        for round in 0..<50_000 {
            var bytes: [UInt8]
            if round.isMultiple(of: 2) {
                bytes = (0..<Int.random(in: 0..<40, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
            } else {
                bytes = try encoded(Self.value(&random, depth: 0))
                for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
                    let position = bytes.indices.randomElement(using: &random) ?? 0
                    switch Int.random(in: 0..<3, using: &random) {
                    case 0: bytes[position] = UInt8.random(in: 0...255, using: &random)
                    case 1: bytes.remove(at: position)
                    default: bytes.insert(UInt8.random(in: 0...255, using: &random), at: position)
                    }
                }
            }
            do {
                let value = try CBORDecoder.value(of: bytes)
                values += 1
                // The message that it is, or the reason that it is none.
                _ = try? Message(message: value)
            } catch {
                errors += 1
            }
        }
        #expect(values > 2_500)
        #expect(errors > 2_500)
    }

    static func value(_ random: inout SeededRandom, depth: Int) -> WireValue {
        switch Int.random(in: 0..<(depth < 4 ? 12 : 9), using: &random) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &random))
        case 2: return .int64(Int64(truncatingIfNeeded: random.next()) >> Int.random(in: 0..<64, using: &random))
        case 3: return .uint64(UInt64(Int64.max) + UInt64.random(in: 1...UInt64(Int64.max), using: &random))
        case 4: return .double(Double(bitPattern: random.next()))
        case 5:
            let digits = (0..<Int.random(in: 20...60, using: &random)).map { _ in
                "\(Int.random(in: 1...9, using: &random))"
            }
            return WireDecimal((Bool.random(using: &random) ? "-" : "") + digits.joined() + "e-7").map(
                WireValue.decimal) ?? .null
        case 6: return .string(text(&random))
        case 7:
            return .data(
                (0..<Int.random(in: 0..<300, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
        case 8:
            return .date(
                WireDate(
                    ticks: .random(in: -600_000_000_000_000_000...2_500_000_000_000_000_000, using: &random),
                    attosecondsBeyond: Bool.random(using: &random)
                        ? 0 : .random(in: 0..<WireDate.attosecondsPerTick, using: &random)))
        case 9, 10:
            return .array((0..<Int.random(in: 0..<6, using: &random)).map { _ in value(&random, depth: depth + 1) })
        default:
            var members = WireDictionary()
            for _ in 0..<Int.random(in: 0..<30, using: &random) {
                members[text(&random)] = value(&random, depth: depth + 3)
            }
            return .dictionary(members)
        }
    }

    private static func text(_ random: inout SeededRandom) -> String {
        String(
            (0..<Int.random(in: 0..<12, using: &random)).map { _ in
                "abcé\u{301}𝄞\u{0}z".randomElement(using: &random) ?? "a"
            })
    }
}
