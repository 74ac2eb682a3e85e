import AdapterKit
import CSV
import Testing

@Suite struct CSVReaderTests {
    private func rows(_ text: String) throws -> [CSVReader.Row] { try CSVReader.read(Array(text.utf8)) }

    @Test func `quotes hold commas, quotes and line ends, and rows know their lines`() throws {
        let text = "\u{FEFF}a,b\r\n\"x,\"\"y\"\"\",\"two\nlines\"\n\nlast,\n"
        #expect(
            try rows(text) == [
                .init(line: 1, fields: ["a", "b"]), .init(line: 2, fields: ["x,\"y\"", "two\nlines"]),
                .init(line: 5, fields: ["last", ""]),
            ])
    }

    @Test func `the last line needs no end`() throws {
        #expect(try rows("a\nb").map(\.fields) == [["a"], ["b"]])
        #expect(try rows("").isEmpty)
    }

    @Test(arguments: [("a\n\"open", "Line 2"), ("a\n\"x\"y", "Line 2"), ("a\n\"", "Line 2")])
    func `a broken quote is told with its line`(text: String, message: String) throws {
        let error = try #require(throws: PorticoError.self) { try rows(text) }
        #expect(error.message.contains(message))
    }

    @Test func `what is not UTF-8 is refused`() {
        #expect(throws: PorticoError.self) { try CSVReader.read([0x61, 0xFF]) }
    }
}
