import AdapterKit
import Testing
import WireFormatTesting
import WireFormats

/// What every reader of JSON must take and must refuse, as `portico convert --from json` does it: validation alone.
@Suite struct JSONConformanceTests {
    @Test(arguments: [
        "[]", "{}", "[[]  ]", "[\"\"]", "[\"a\"]", "[false]", "[null, 1, \"1\", {}]", "[null]", "[1\n]", " [1]",
        "[1,null,null,null,2]", "[2] ", "[0e+1]", "[0e1]", "[ 4]", "[-1e-78]", "[20e1]", "[-0]", "[-0.0]", "[-123]",
        "[1E22]", "[1E-2]", "[1E+2]", "[123e45]", "[123.456e78]", "[1e-2]", "[1e+2]", "[123.456789]", "42", "-0.1",
        "false", "true", "null", "\"\"", "\"asd\"", "[-0.00000000000000000000000000000000000000000000000001]",
        "{\"a\":\"b\",\"a\":\"c\"}", "{\"a\":\"b\",\"a\":\"b\"}", "{\"\":0}", "{\"a\\u0000b\":1}",
        "{\"min\":-1.0e+28,\"max\":1.0e+28}", "{\"a\":[]}", "{\n\"a\": \"b\"\n}",
        "[\"\\u0060\\u012a\\u12AB\"]", "[\"\\uD801\\udc37\"]", "[\"\\ud83d\\ude39\\ud83d\\udc8d\"]",
        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[\"\\\\u0000\"]", "[\"\\\"\"]", "[\"a/*b*/c/*d//e\"]", "[\"\\\\a\"]",
        "[\"\\u0012\"]", "[\"\\uFFFF\"]", "[\"\\uDBFF\\uDFFF\"]", "[\"new\\u00A0line\"]", "[\"\u{10FFFF}\"]",
        "[\"\u{FFFF}\"]", "[\"\\u0000\"]", "[\"\\u002c\"]", "[\"π\"]", "[\"\u{1BFFF}\"]", "[\" \"]",
        "[\"\\uDBFF\\uDFFE\"]", "[\"\u{2028}\"]", "[\"\u{2029}\"]", "[\"\u{7F}\"]", "[\"a\u{7F}a\"]", "[\"\\uFDD0\"]",
        "[\"\\uD83F\\uDFFE\"]", "[\"\\u200B\"]", "[\"\\u2064\"]", "[\"€𝄞\"]", "\t\n\r [1]\t\n\r ",
    ])
    func `what RFC 8259 allows is accepted`(text: String) {
        #expect(throws: Never.self) { try validate(Array(text.utf8)) }
    }

    @Test(arguments: [
        " ", "[1 true]", "[a", "[\"\": 1]", "[\"\"],", "[,1]", "[1,,2]", "[\"x\",,]", "[\"x\"]]", "[\"\",]", "[\"x\"",
        "[3[4]]",
        "[1:2]", "[,]", "[-]", "[   , \"\"]", "[\"a\",\n4\n,1,", "[1,]", "[1,,]", "[*]", "[\"\"", "[1,", "[{}",
        "[fals]",
        "[nul]", "[tru]", "[++1234]", "[+1]", "[+Inf]", "[-01]", "[-1.0.]", "[-2.]", "[-NaN]", "[.-1]", "[.2e-3]",
        "[0.1.2]", "[0.3e+]", "[0.3e]", "[0.e1]", "[0E+]", "[0E]", "[1.0e+]", "[1.0e-]", "[1.0e]", "[1 000.0]",
        "[1eE2]",
        "[2.e+3]", "[2.e3]", "[9.e+]", "[Inf]", "[NaN]", "[\u{FF11}]", "[1+2]", "[0x1]", "[0x42]", "[Infinity]",
        "[0e+-1]", "[-123.123foo]", "[-Infinity]", "[-foo]", "[- 1]", "[-012]", "[-.123]", "[-1x]", "[1ea]", "[1e1x]",
        "[1.]", "[.123]", "[1.2a-3]", "[1.8011670033376514H-308]", "[012]", "[\"x\", truth]", "{[: \"x\"}",
        "{\"x\", null}", "{\"x\"::\"b\"}", "{🇨🇭}", "{\"a\":\"a\" 123}", "{key: 'value'}", "{\"a\" b}", "{:\"b\"}",
        "{\"a\" \"b\"}", "{\"a\":", "{\"a\"", "{1:1}", "{null:null,}", "{\"id\":0,,,,,}", "{'a':0}", "{\"id\":0,}",
        "{\"a\":\"b\"}/**/", "{\"a\":\"b\"}//", "{\"a\":\"b\",,\"c\":\"d\"}", "{a: \"b\"}", "{\"a\":\"a", "{} #",
        "[\"\\uD800\\u\"]", "[\"\\uD800\\u1\"]", "[\"\\uD800\\u1x\"]", "[é]", "[\"\\x00\"]", "[\"\\\\\\\"]",
        "[\"\\\u{9}\"]", "[\"\\🌀\"]", "[\"\\\"]", "[\"\\u00A\"]", "[\"\\a\"]", "[\"\\uqqqq\"]", "[\\u0020\"asd\"]",
        "[\\n]",
        "\"", "['single quote']", "abc", "[\"\\", "[\"a\u{0}a\"]", "[\"new\nline\"]", "[\"\t\"]", "\"\\UA66D\"",
        "\"\"x",
        "<.>", "[<null>]", "[1]x", "[1]]", "[\"asd]", "aå", "[True]", "1]", "{\"x\": true,", "[][]", "]", "[", "{]",
        "[\u{2060}]", "{\"\":", "{\"a\":/*c*/\"b\"}", "*", "{\"asd\":\"asd\"", "[\"a", "[1\u{0}]", "123\u{0}",
        "\u{C}[]",
    ])
    func `what RFC 8259 does not allow is refused`(text: String) throws {
        try expectRefused(Array(text.utf8))
    }

    @Test(arguments: ["[", "{\"\":", "[{\"\":", "[[],"])
    func `three million openings end at the limit of depth, or are cut off`(opening: String) throws {
        let whole = Array(String(repeating: opening, count: 3_000_000 / opening.utf8.count).utf8)
        try expectRefused(whole)
    }

    @Test func `the last of equal keys is kept, and reported`() throws {
        let document = Array("{\"a\":1,\"b\":{\"c\":1,\"c\":2},\"a\":3}".utf8)
        let (output, report) = try Conversion(from: JSONFormat(), to: JSONFormat()).run(document)
        #expect(String(decoding: output, as: UTF8.self) == "{\"a\":3,\"b\":{\"c\":2}}")
        #expect(report.droppedDuplicates == 2)
    }

    @Test func `twenty thousand doubles pass every format bit by bit`() throws {
        var random = SeededRandom(seed: 64)
        let bits = (0..<20_000).map { _ in UInt64.random(in: .min ... .max, using: &random) }
        let numbers = bits.map { Double(bitPattern: $0) }.filter(\.isFinite)
        let value = WireValue.array(numbers.map { .double($0) })
        for format in FormatCatalogue.standard.formats {
            #expect(try format.read(format.write(value)) == value, "\(format.name)")
        }
    }

    private func validate(_ document: [UInt8]) throws {
        _ = try Conversion(from: JSONFormat()).run(document)
    }

    private func expectRefused(_ document: [UInt8]) throws {
        #expect { try validate(document) } throws: { ($0 as? WireFormatError)?.position != nil }
    }
}
