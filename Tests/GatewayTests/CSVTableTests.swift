import AdapterKit
import CSV
import Testing

@Suite struct CSVTableTests {
    private func table(_ text: String) throws -> CSVTable { try CSVTable(Array(text.utf8)) }

    private func problem(_ bytes: [UInt8]) -> CSVProblem? {
        do throws(CSVProblem) {
            _ = try CSVTable(bytes)
            return nil
        } catch { return error }
    }

    @Test func `quotes hold commas, quotes and line ends, and rows know their lines`() throws {
        let text = "\u{FEFF}a,b\r\n\"x,\"\"y\"\"\",\"two\nlines\"\n\n\"a\rb\",\"c\"\r\nlast,\n"
        let table = try table(text)
        #expect(table.columns == ["a", "b"])
        #expect(table.rows.map(\.line) == [2, 5, 6])
        #expect(table.rows.map(\.fields) == [["x,\"y\"", "two\nlines"], ["a\rb", "c"], ["last", ""]])
    }

    @Test func `the last line needs no end`() throws {
        #expect(try table("a\nb").rows.map(\.fields) == [["b"]])
    }

    @Test(arguments: [("a\n\"open", "line 2"), ("a\n\"x\"y", "line 2"), ("a\n\"", "line 2"), ("a,b\n1", "line 2")])
    func `a row that is none is told with its line`(text: String, place: String) {
        #expect(problem(Array(text.utf8))?.phrase.hasPrefix(place) == true)
    }

    /// Each of them would be a header without rows.
    @Test(arguments: [
        ("id,name\r1,Ann\r2,Bob\r", "line 1 has a CR without LF"),
        ("\"id\",\"name\"\r\"1\",\"a\"\r", "line 1 has a CR"),
        ("id,name\n1,Ann\r2,Bob\n", "line 2 has a CR"), ("id,name\r", "line 1 has a CR"),
        ("id;name\n1;Ann\n", "a semicolon"), ("id\tname\n1\tAnn\n", "a tab"), ("id|name\n", "a bar"),
        ("sep=;\nid;name\n1;Ann\n", "`sep=;`"), ("sep=,\nid,name\n1,Ann\n", "only Excel reads"),
        ("", "no header line"), ("\n\n", "no header line"), ("id,id\n1,2\n", "`id` twice"),
        ("id,,\n1,,x\n", "line 2 has a value in column 3"),
    ])
    func `what other programs call CSV is refused with its cause`(text: String, cause: String) {
        let phrase = problem(Array(text.utf8))?.phrase
        #expect(phrase?.contains(cause) == true, "\(phrase ?? "taken")")
    }

    @Test func `UTF-16 is told from text, with and without its mark`() {
        let little = Array("id,name\n".utf16).flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        let big = Array("id,name\n".utf16).flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        for bytes in [[0xFF, 0xFE] + little, [0xFE, 0xFF] + big, little, big] {
            #expect(problem(bytes)?.phrase.contains("UTF-16") == true)
        }
        #expect(problem([0x61, 0xFF])?.phrase.contains("UTF-8") == true)
        #expect(problem(Array("id,name\n1,".utf8) + [0xE9] + Array("\n".utf8))?.column == "name")
    }

    @Test func `columns without a name and without values count for nothing`() throws {
        #expect(try table("a,,\n1,,\n").rows.map(\.fields) == [["1", "", ""]])
    }

    @Test(
        arguments: [
            (["UserId", "UserName"], nil), (["UserId", "UserNmae"], "did you mean `UserName`?"),
            (["UserId", "user name"], "did you mean `UserName`?"), (["UserId", "UserName", "Colour"], "`Colour`"),
            (["UserName"], "no column `UserId`"), (["", "UserId", "UserName"], nil),
            (["a\u{1}b"], "`a b`"),
        ] as [([String], String?)])
    func `a column that no field has is refused, and one that is missing`(columns: [String], words: String?) {
        let wanted = CSVColumns(known: ["UserId", "UserName", "ShoeSize"], required: ["UserId", "UserName"])
        do throws(CSVProblem) {
            try wanted.check(columns)
            #expect(words == nil)
        } catch {
            #expect(words.map(error.phrase.contains) == true, "\(error.phrase)")
        }
    }

    @Test func `a missing column names the one that it may be`() throws {
        let error = try #require(throws: CSVProblem.self) {
            try CSVColumns(known: nil, required: ["name"]).check(["id", "nmae"])
        }
        #expect(error.phrase.contains("no column `name`; it has `nmae`"))
    }
}
