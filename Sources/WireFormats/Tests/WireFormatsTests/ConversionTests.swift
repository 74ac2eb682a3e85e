import AdapterKit
import Testing
import WireFormats

private func format(_ name: FormatName) throws -> any WireFormat {
    try #require(FormatCatalogue.conversion[name])
}

/// Gives a document in pieces of a size.
private func pieces(_ document: [UInt8], _ size: Int) -> () -> [UInt8] {
    var position = 0
    return {
        let piece = Array(document[position..<min(position + size, document.count)])
        position += piece.count
        return piece
    }
}

private func convert(
    _ document: [UInt8], _ from: FormatName, _ to: FormatName?, bytes: Int = 1 << 30, depth: Int = 512
) throws -> (output: [UInt8], report: Conversion.Report) {
    var output: [UInt8] = []
    let conversion = Conversion(
        from: try format(from), to: try to.map(format), maximumDepth: depth, maximumBytes: bytes)
    let report = try conversion.run(input: pieces(document, 70_001)) { output += $0 }
    return (output, report)
}

/// Longer than what is held as a whole, with a container that is longer than a piece, and long texts.
private func large(_ records: Int = 120_000) -> [UInt8] {
    let rows = (0..<records).map { #"{"id":\#($0),"name":"Zoë \#($0) ]}\"","tags":[1,2.5,null]}"# }
    let long = String(repeating: "x", count: 2 << 20)
    return Array(#"{"count":\#(records),"long":"\#(long)","rows":[\#(rows.joined(separator: ",\n"))],"e":{} }"#.utf8)
}

@Suite struct ConversionTests {
    @Test func `a long JSON document is streamed to the same result`() throws {
        let document = large()
        let whole = try format(.json).read(document, limits: ReadingLimits(values: 1 << 24, expandedBytes: 1 << 30))
        for target in [FormatName.json, .xml, .cbor] {
            let (output, _) = try convert(document, .json, target)
            let limits = ReadingLimits(values: 1 << 24, expandedBytes: 1 << 30)
            #expect(try format(target).read(output, limits: limits) == whole, "\(target)")
        }
    }

    @Test func `an error far into a stream names its line and column`() throws {
        var document = large()
        let end = document.count - 8
        document.replaceSubrange(end..<end, with: Array("\n\n  ?".utf8))
        let error = try #require(throws: WireFormatError.self) { try convert(document, .json, nil) }
        let before = document[..<(end + 4)]
        #expect(error.position?.offset == end + 4)
        #expect(error.position?.line == before.count { $0 == 0x0A } + 1)
        #expect(error.position?.column == 3)
    }

    @Test func `the last of two equal keys wins and is counted`() throws {
        let (output, report) = try convert(Array(#"{"a":1,"a":2}"#.utf8), .json, .json)
        #expect(output == Array(#"{"a":2}"#.utf8) && report.droppedDuplicates == 1)
    }

    @Test func `a long dictionary with a key twice is refused, as its values are written already`() throws {
        let long = String(repeating: "x", count: 9 << 20)
        let error = try #require(throws: WireFormatError.self) {
            try convert(Array(#"{"a":"\#(long)","a":1}"#.utf8), .json, .json)
        }
        #expect(error.kind == .duplicateKey)
    }

    @Test(arguments: ["[1,2", "[1 2", "{\"a\" 1", "{1:2}", "[1,]", "[] []", "{\"a\":1,}", "[,1]"])
    func `a long document is held to the same grammar`(end: String) throws {
        let long = String(repeating: " ", count: 9 << 20)
        for document in [long + end, "[\"\(String(repeating: "x", count: 9 << 20))\",\(end)"] {
            let error = try #require(throws: WireFormatError.self) { try convert(Array(document.utf8), .json, nil) }
            #expect(error.kind == .malformed && error.position?.line == 1)
        }
    }

    @Test func `depth and size are limited`() throws {
        let deep = Array((String(repeating: "[", count: 20) + String(repeating: "]", count: 20)).utf8)
        #expect(throws: WireFormatError.self) { try convert(deep, .json, nil, depth: 19) }
        _ = try convert(deep, .json, nil, depth: 20)
        let error = try #require(throws: WireFormatError.self) { try convert(deep, .json, nil, bytes: 39) }
        #expect(error.kind == .limitExceeded)
    }

    @Test func `a foreign XML document keeps its root's name`() throws {
        let (output, _) = try convert(Array("<a b='1'><c/></a>".utf8), .xml, .json)
        #expect(output == Array(#"{"a":{"@b":"1","c":""}}"#.utf8))
    }
}
