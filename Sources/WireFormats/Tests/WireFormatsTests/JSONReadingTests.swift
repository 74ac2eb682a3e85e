import AdapterKit
import Testing
import WireFormatTesting
import WireFormats

@Suite struct JSONReadingTests {
    static let documents: [(text: String, value: WireValue)] = [
        ("null", WireValue.null), (" [ ] ", []),
        (
            "{\"a\":{\"b\":[1,2.5,\"x\",true,false]}}",
            ["a": ["b": [1, .double(2.5), "x", true, false]]]
        ),
        ("\u{FEFF}1", 1), ("-0", 0), ("-0.0", .double(-0.0)), ("1.0", .double(1)), ("1E2", .double(100)),
        ("9223372036854775807", .int64(.max)), ("-9223372036854775808", .int64(.min)),
        ("9223372036854775808", .uint64(1 << 63)), ("18446744073709551615", .uint64(.max)),
        ("18446744073709551616", .decimal(WireDecimal("18446744073709551616")!)),
        ("0.1234567890123456789", .decimal(WireDecimal("0.1234567890123456789")!)),
        ("1.00000000000000000000000", .double(1)), ("1231231231231231.5e-10", .double(123123.12312312315)),
        ("5e-324", .double(.leastNonzeroMagnitude)), ("0e999999999999", .double(0)),
        ("4.9e-324", .decimal(WireDecimal("4.9e-324")!)),
        ("1234567890123456.7", .decimal(WireDecimal("1234567890123456.7")!)),
        ("1234567890123456.8", .double(1234567890123456.8)), ("8.500000000000002", .double(8.500000000000002)),
        ("8.500000000000001", .decimal(WireDecimal("8.500000000000001")!)),
        ("0.10000000000000001", .decimal(WireDecimal("0.10000000000000001")!)),
        ("-0.10000000000000001", .decimal(WireDecimal("-0.10000000000000001")!)),
        ("-0.3000000000000000000", .double(-0.3)), ("9007199254740993.0", .decimal(WireDecimal("9007199254740993.0")!)),
        ("9007199254740992.0", .double(9_007_199_254_740_992)),
        ("0.00000000000000000000012345678901234568", .double(1.2345678901234568e-22)),
        ("1.7976931348623157e308", .double(1.7976931348623157e308)),
        ("\"\\u00e9\\ud83d\\ude00\\n\\/\\\"\"", "é😀\n/\""), ("\"é😀\u{10FFFF}\u{7F}\"", "é😀\u{10FFFF}\u{7F}"),
        ("\"\\u0000\"", "\0"), ("{\"\":1,\"\\u00e9\":2,\"e\u{301}\":3}", ["": 1, "é": 2, "e\u{301}": 3]),
    ]

    @Test(arguments: documents)
    func `a document is read`(text: String, expected: WireValue) throws {
        #expect(try JSONFormat().read(Array(text.utf8)) == expected)
    }

    @Test(arguments: [
        "", " ", "[", "]", "{", "}", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",
        "{\"a\" 1}", "{1:1}", "[1}", "{\"a\":1]", "1 2", "nul", "nulll", "True", "01", "-01", "-", "+1", "1.", ".5",
        "1e",
        "1e+", "0x1", "1_0", "NaN", "Infinity", "-Infinity", "'a'", "\"", "\"a", "\"\\", "\"\\x\"", "\"\\u12\"",
        "\"\\u12G4\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\n\"", "\"\\ud800\\ud800\"", "\"\t\"", "\"\n\"",
        "\"\0\"",
        "[1]\0", "\0", "/**/1", "1//", "[1]x", "\u{FEFF}", "\u{FEFF}\u{FEFF}1", "\u{A0}1", "\u{0C}1", "tru", "[nu",
        "--1", "1.2.3", "1e1.5", "{\"a\":1 \"b\":2}", "{,}", "[[]", "[\"a\":1]",
    ])
    func `what is no JSON text is refused as malformed`(text: String) {
        #expect { try JSONFormat().read(Array(text.utf8)) } throws: { ($0 as? WireFormatError)?.kind == .malformed }
    }

    @Test(
        arguments: [
            [0x80], [0xC0, 0xAF], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xC3], [0xE2, 0x82], [0xF0, 0x9F, 0x98],
        ] as [[UInt8]])
    func `invalid UTF-8 is refused wherever it stands`(bytes: [UInt8]) {
        for padding in 0..<10 {
            let text = [0x22] + [UInt8](repeating: 0x61, count: padding) + bytes + [0x22]
            #expect(throws: WireFormatError.self) { try JSONFormat().read(text) }
        }
    }

    @Test(arguments: ["1e400", "-1e400", "1e-400", "1e99999999999999999999", "0.00001e-400"])
    func `a real that a double cannot reach is refused, never rounded to infinity or zero`(text: String) {
        #expect { try JSONFormat().read(Array(text.utf8)) } throws: { ($0 as? WireFormatError)?.kind == .refused }
    }

    @Test func `an error names line and column`() {
        #expect {
            try JSONFormat().read(Array("{\n  \"a\": 1,\n  \"b\" 2}".utf8))
        } throws: {
            ($0 as? WireFormatError)?.position == .init(offset: 18, line: 3, column: 7)
        }
    }

    @Test func `equal keys are refused, written differently too`() {
        for text in ["{\"a\":1,\"a\":2}", "{\"a\":1,\"b\":0,\"\\u0061\":2}"] {
            #expect { try JSONFormat().read(Array(text.utf8)) } throws: {
                ($0 as? WireFormatError)?.kind == .duplicateKey
            }
        }
    }

    @Test func `the last of equal keys wins at the first one's place where the policy says so`() throws {
        let text = "[{\"a\":1,\"b\":{\"x\":1,\"x\":[2],\"y\":3},\"\\u0061\":{\"c\":1,\"c\":2}},5]"
        let tape = try JSONFormat().readTape(Array(text.utf8), limits: ReadingLimits(duplicateKeys: .keepLast))
        #expect(tape.value() == [["a": ["c": 2], "b": ["x": [2], "y": 3]], 5])
        #expect(tape.droppedDuplicates == 3)
    }

    @Test func `many keys are checked as few ones are`() {
        let keys = (0..<5000).map { "\"k\($0)\":\($0)" }
        let distinct = "{\(keys.joined(separator: ","))}"
        #expect(throws: Never.self) { try JSONFormat().read(Array(distinct.utf8)) }
        let doubled = "{\((keys + ["\"\\u006b77\":0"]).joined(separator: ","))}"
        #expect(throws: WireFormatError.self) { try JSONFormat().read(Array(doubled.utf8)) }
    }

    @Test func `depth, tokens and bytes are limited`() {
        let nested = Array((String(repeating: "[", count: 512) + String(repeating: "]", count: 512)).utf8)
        #expect(throws: Never.self) { try JSONFormat().read(nested) }
        let limits = [ReadingLimits(depth: 511), ReadingLimits(values: 500), ReadingLimits(depth: 0)]
        for limit in limits { expectLimit(nested, limit) }
        expectLimit(Array("[\"abc\",{\"de\":\"f\"}]".utf8), ReadingLimits(expandedBytes: 5))
        expectLimit([UInt8](repeating: 0x5B, count: 1_000_000), ReadingLimits())
    }

    private func expectLimit(_ input: [UInt8], _ limits: ReadingLimits) {
        #expect { try JSONFormat().read(input, limits: limits) } throws: {
            ($0 as? WireFormatError)?.kind == .limitExceeded
        }
    }
}

@Suite struct JSONNumberTests {
    /// Numbers of 1 to 21 digits with points and exponents, many of them near doubles' own digits.
    private func numbers(_ count: Int) -> [String] {
        var random = SeededRandom(seed: 7)
        return (0..<count).map { _ in
            let length = Int.random(in: 1...21, using: &random)
            var digits = (0..<length).map { _ in String(Int.random(in: 0...9, using: &random)) }.joined()
            if Bool.random(using: &random) {
                let shown = Double.random(in: 0..<1e6, using: &random).description.filter {
                    $0 != "." && $0 != "e" && $0 != "-"
                }
                digits = String(shown.prefix(length)) + (Bool.random(using: &random) ? "1" : "")
            }
            digits = String(digits.drop { $0 == "0" })
            if digits.isEmpty { digits = "1" }
            let split = Int.random(in: 0...digits.utf8.count, using: &random)
            let whole = split == 0 ? "0" : String(digits.prefix(split))
            let fraction = split == digits.utf8.count ? "0" : String(digits.dropFirst(split))
            let exponent =
                Int.random(in: 0..<3, using: &random) == 0 ? "e\(Int.random(in: -300...280, using: &random))" : ""
            return "\(Bool.random(using: &random) ? "-" : "")\(whole).\(fraction)\(exponent)"
        }
    }

    @Test func `a number comes back as it was, from the tree and from the tape`() throws {
        for text in numbers(20_000) {
            let bytes = Array("[\(text)]".utf8)
            let expected = try #require(WireDecimal(text))
            for written in [
                try JSONFormat().write(JSONFormat().read(bytes)),
                try JSONFormat().write(JSONFormat().readTape(bytes, limits: ReadingLimits())),
            ] {
                let back = String(decoding: written.dropFirst().dropLast(), as: UTF8.self)
                #expect(WireDecimal(back) == expected, "\(text) became \(back)")
            }
        }
    }

    @Test func `a number goes through every format, as digits in text where it has to`() throws {
        for text in numbers(2000) {
            let value = try JSONFormat().read(Array("[\(text)]".utf8))
            let expected = try #require(WireDecimal(text))
            for format in FormatCatalogue.standard.formats {
                let options = WritingOptions(largeIntegers: .text)
                let back = try format.read(format.write(value, options: options)).arrayValue?.first
                let number: WireDecimal? =
                    switch back {
                    case .decimal(let number): number
                    case .double(let number): WireDecimal(number.description)
                    case .int64(let number): WireDecimal(number)
                    case .uint64(let number): WireDecimal(number)
                    case .string(let digits): WireDecimal(digits)
                    default: nil
                    }
                #expect(number == expected, "\(text) became \(String(describing: back)) in \(format.name)")
            }
        }
    }
}
