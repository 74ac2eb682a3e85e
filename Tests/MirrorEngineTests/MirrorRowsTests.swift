import AdapterKit
import MirrorEngine
import Testing

@Suite struct MirrorRowsTests {
    private let entity = Entity(
        "people", summary: "", key: EntityKey("id"),
        fields: [
            Field("id", .string(maximumLength: 10), isRequired: true), Field("name", .string, isRequired: true),
            Field("age", .integer), Field("mail", .string, defaultValue: ""),
        ])

    private func rows(before: Set<String> = []) throws -> MirrorRows {
        try MirrorRows(of: entity, fieldsBefore: before, at: WireDate(secondsSinceReferenceDate: 0))
    }

    @Test func `a member that is no field is reported and left out`() throws {
        var rows = try rows()
        let page = rows.read([["id": "a", "name": "A", "new": 1], ["id": "b", "name": "B", "new": 2]])
        #expect(
            page.rows.map(\.fields) == [
                ["id": "a", "name": "A", "age": .null, "mail": ""], ["id": "b", "name": "B", "age": .null, "mail": ""],
            ])
        #expect(rows.drifts == [FieldDrift("new", .appeared)])
    }

    @Test func `a value that does not fit its field is reported, and the other fields of its row are taken`() throws {
        var rows = try rows()
        let page = rows.read([["id": "a", "name": "A", "age": "old"], ["id": "b", "name": "B", "age": 4]])
        #expect(page.rows.map(\.id) == ["b"])
        #expect(page.incomplete[["age"]]?.map(\.fields) == [["id": "a", "name": "A", "age": .null, "mail": ""]])
        #expect(page.kept.isEmpty)
        #expect(rows.drifts == [FieldDrift("age", .changedType)])
        #expect(rows.refused == 0)
        #expect(rows.misfits.rows == ["a": ["age"]])
        #expect(rows.misfits.rules == ["age": "age must be an integer. It was a text."])
        #expect(rows.misfits.stored["rules"]?["age"]?.stringValue?.hasSuffix("It was a text.") == true)
    }

    @Test func `an adapter's own reason is told where it could not read a value`() throws {
        var rows = try rows()
        _ = rows.read([["id": "a", "name": "A", "age": MirrorPage.unreadable(because: "age has at most 3 digits.")]])
        #expect(rows.misfits.rules == ["age": "age has at most 3 digits."])
    }

    @Test func `a required field whose value does not fit refuses the row, and its record stays as it is`() throws {
        var rows = try rows()
        let page = rows.read([["id": "a", "name": 1, "age": "old"], ["id": "b", "name": "B"]])
        #expect(page.rows.map(\.id) == ["b"] && page.incomplete.isEmpty)
        #expect(page.kept == ["a"])
        #expect(rows.refused == 1)
        #expect(rows.misfits.rows == ["a": ["age", "name"]])
        #expect(!rows.hasUnreadableKey)
    }

    @Test func `rows that do not fit are named up to a limit, and further ones are counted`() throws {
        var rows = try rows()
        _ = rows.read((0..<250).map { ["id": .string("\($0)"), "name": "A", "age": "old"] })
        #expect(rows.misfits.rows.count == MirrorMisfits.mostRows)
        #expect(rows.misfits.count == 250)
    }

    @Test func `a field that no row has any more is reported, and the records keep what they have`() throws {
        var rows = try rows(before: ["id", "name", "age"])
        let page = rows.read([["id": "a", "name": "A"], ["id": "b", "name": "B"]])
        #expect(page.retained == ["age"])
        #expect(page.rows.count == 2)
        #expect(rows.drifts == [FieldDrift("age", .vanished)])
    }

    @Test func `a row without a value that is needed keeps its record`() throws {
        var rows = try rows()
        let page = rows.read([["id": "a"], ["id": "b", "name": .null], ["id": "c", "name": "C"]])
        #expect(page.kept == ["a", "b"])
        #expect(page.rows.map(\.id) == ["c"])
        #expect(rows.drifts == [FieldDrift("name", .vanished)])
    }

    @Test func `a row whose key no path can name does not fit, and the others are taken`() throws {
        var rows = try rows()
        let page = rows.read([".", "..", "...", "a"].map { ["id": .string($0), "name": "A"] })
        #expect(page.rows.map(\.id) == ["...", "a"])
        #expect(page.kept == [".", ".."])
        #expect(rows.misfits.rows == [".": ["id"], "..": ["id"]])
        #expect(rows.drifts == [FieldDrift("id", .changedType)])
        #expect(!rows.hasUnreadableKey)
    }

    @Test func `a row whose key cannot be read is counted, and no record can be said to be missing`() throws {
        var rows = try rows()
        let page = rows.read([["name": "A"], ["id": 7, "name": "B"], ["id": "much too long a key", "name": "C"]])
        #expect(page.rows.isEmpty && page.kept.isEmpty)
        #expect(rows.hasUnreadableKey)
        #expect(rows.refused == 3)
    }

    @Test func `names that a log cannot show are shortened, and not all that are invented are reported`() throws {
        var rows = try rows()
        var row: WireDictionary = ["id": "a", "name": "A", "line\nbreak": 1]
        for number in 0..<500 { row["x\(number)"] = 1 }
        _ = rows.read([row])
        #expect(rows.drifts.count == MirrorRows.mostDrifts)
        #expect(rows.drifts.allSatisfy { !$0.field.contains("\n") })
        #expect(rows.fields == ["id", "name"])
    }

    @Test func `a key that is not the record's own is read by its field, and ids are left to the server`() throws {
        let entity = Entity(
            "people", summary: "", key: EntityKey("row", chosenBy: .server),
            fields: [
                Field("row", .string, isRequired: true), Field("id", .integer, isRequired: true),
                Field("name", .string),
            ])
        var rows = try MirrorRows(
            of: entity, key: "id", fieldsBefore: [], at: WireDate(secondsSinceReferenceDate: 0))
        let page = rows.read([
            ["id": 7, "name": "A", "row": "chosen by the source"], ["id": "b", "name": "B"], ["id": 8, "name": 9],
        ])
        #expect(page.rows.map(\.id) == [nil])
        #expect(page.rows.first?.fields["row"]?.stringValue != "chosen by the source")
        #expect(page.incomplete[["name"]]?.map { $0.fields["id"] } == [8])
        #expect(page.kept.isEmpty)
        #expect(rows.hasUnreadableKey)
    }
}
