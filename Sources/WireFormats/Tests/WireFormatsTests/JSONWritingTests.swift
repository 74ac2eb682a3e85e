import AdapterKit
import Testing
import WireFormats

@Suite struct JSONWritingTests {
    private func write(_ value: WireValue, _ options: WritingOptions = .init()) throws -> String {
        String(decoding: try JSONFormat().write(value, options: options), as: UTF8.self)
    }

    static let values: [(value: WireValue, text: String)] = [
        (WireValue.null, "null"), (.double(1), "1.0"), (.double(-0.0), "-0.0"), (.double(1e22), "1e+22"),
        (.int64(.min), "-9223372036854775808"), (.uint64(.max), "18446744073709551615"), (.int64(0), "0"),
        (.decimal(WireDecimal("1.50")!), "1.50"),
        (.decimal(WireDecimal("12e25")!), "12" + String(repeating: "0", count: 25)),
        (
            "a\"\\/\u{8}\t\n\u{C}\r\u{0}\u{1F}\u{7F}é\u{2028}",
            "\"a\\\"\\\\/\\b\\t\\n\\f\\r\\u0000\\u001f\u{7F}é\u{2028}\""
        ),
        (.data([0, 255, 62]), "\"AP8+\""),
        (.date(WireDate(secondsSinceReferenceDate: 0.5)), "\"2001-01-01T00:00:00.5Z\""),
        (
            ["a": [], "b": [:], "c": [1, ["d": .null]]],
            "{\"a\":[],\"b\":{},\"c\":[1,{\"d\":null}]}"
        ),
    ]

    @Test(arguments: values)
    func `a value is written`(value: WireValue, expected: String) throws {
        #expect(try write(value) == expected)
    }

    @Test(arguments: [
        WireValue.double(.nan), .double(.infinity), .uid(1), .date(WireDate(secondsSinceReferenceDate: 1e300)),
        .decimal(WireDecimal("1e-400")!), .decimal(WireDecimal("1e5000")!),
    ])
    func `what JSON cannot carry is an error`(value: WireValue) {
        #expect { try write([value]) } throws: { ($0 as? WireFormatError)?.kind == .notRepresentable }
    }

    @Test func `the pretty layout indents by two spaces`() throws {
        let text = try write(["a": [1, []], "b": [:]], WritingOptions(layout: .pretty))
        #expect(text == "{\n  \"a\": [\n    1,\n    []\n  ],\n  \"b\": {}\n}")
    }

    @Test func `a deeper value than the limit is refused`() throws {
        var value: WireValue = 1
        for _ in 0..<513 { value = [value] }
        #expect(throws: WireFormatError.self) { try write(value) }
        #expect(try write(value, WritingOptions(depth: 513)).utf8.count == 1027)
    }

    @Test func `a tape writes what its tree writes`() throws {
        let text = "{\"a\\n\":[1,-2.5,18446744073709551616,\"\\ud83d\\ude00\",null,{},[]],\"b\":{\"c\":true}}"
        let tape = try JSONFormat().readTape(Array(text.utf8), limits: ReadingLimits())
        #expect(try JSONFormat().write(tape) == JSONFormat().write(tape.value()))
    }

    @Test func `a list is streamed in chunks that put together are the document`() throws {
        let envelope = ListWriter.Envelope(path: ["d", "results"], leading: ["count": 1000])
        let list = try ListWriter(JSONFormat(), envelope: envelope, chunkSize: 1000)
        var chunks: [[UInt8]] = []
        for number in 0..<1000 {
            if let chunk = try list.append(["id": .int64(Int64(number))]) { chunks.append(chunk) }
        }
        chunks.append(try list.finish(trailing: ["next": "x"]))
        #expect(chunks.count > 5 && chunks.dropLast().allSatisfy { (1000..<1100).contains($0.count) })
        let value = try JSONFormat().read(Array(chunks.joined()))
        #expect(value["d"]?["results"]?.arrayValue?.count == 1000)
        #expect(value["d"]?.dictionaryValue?.keys == ["count", "results", "next"])
    }
}
