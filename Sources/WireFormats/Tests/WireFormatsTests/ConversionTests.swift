import AdapterKit
import Testing
import WireFormats

private func format(_ name: FormatName) throws -> any WireFormat {
    try #require(FormatCatalogue.conversion[name])
}

private func convert(
    _ document: [UInt8], _ from: FormatName, _ to: FormatName?, bytes: Int = 1 << 30, depth: Int = 512,
    dates: WritingOptions.DateFractionPolicy = .error
) throws -> (output: [UInt8], report: Conversion.Report) {
    try Conversion(
        from: format(from), to: to.map { try format($0) }, maximumDepth: depth, maximumBytes: bytes,
        dateFractions: dates
    ).run(document)
}

@Suite struct ConversionTests {
    @Test func `the last of two equal keys wins and is counted`() throws {
        let (output, report) = try convert(Array(#"{"a":1,"a":2}"#.utf8), .json, .json)
        #expect(output == Array(#"{"a":2}"#.utf8) && report.droppedDuplicates == 1)
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

    @Test
    func `a fraction of a second that the target cannot carry is refused by its place, or rounded where that is said`()
        throws
    {
        let date = #"<value xmlns:v="urn:portico:value" v:type="date">2001-01-01T00:00:01.5Z</value>"#
        let error = try #require(throws: WireFormatError.self) { try convert(Array(date.utf8), .xml, .plist) }
        #expect(error.kind == .notRepresentable && error.position?.line == 1)
        let (output, _) = try convert(Array(date.utf8), .xml, .plist, dates: .truncate)
        #expect(String(decoding: output, as: UTF8.self).contains("<date>2001-01-01T00:00:01Z</date>"))
        let (exact, _) = try convert(Array(date.utf8), .xml, .json, dates: .truncate)
        #expect(exact == Array(#""2001-01-01T00:00:01.5Z""#.utf8), "JSON carries it")
    }

    /// As many levels as there may be, with members beside them on each.
    @Test(arguments: [FormatName.json, .plist, .xml, .bplist, .cbor])
    func `the deepest document is converted in a time that its length decides`(target: FormatName) throws {
        let levels = ReadingLimits.maximumDepth - 96
        let document = Array(
            (String(repeating: #"{"pad":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","in":"#, count: levels) + "1"
                + String(repeating: "}", count: levels)).utf8)
        let (written, _) = try convert(document, .json, target, depth: ReadingLimits.maximumDepth)
        let (back, _) = try convert(written, target, .json, depth: ReadingLimits.maximumDepth)
        #expect(back == document)
    }
}
