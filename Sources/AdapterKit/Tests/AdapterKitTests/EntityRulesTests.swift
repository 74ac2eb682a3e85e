import AdapterKit
import Testing

@Suite struct EntityRulesTests {
    private let entity = Entity(
        "notes", summary: "", key: EntityKey("id"),
        fields: [
            Field("id", .string(maximumLength: 8), isRequired: true), Field("title", .string, isRequired: true),
            Field("text", .string), Field("rank", .integer, defaultValue: 5),
            Field("cleared", .string, isNullable: true),
            Field("owner", .string, source: .creator), Field("serial", .string, source: .callerOnCreate),
            Field("modified", .date, source: .modifiedAt),
        ])
    private let first = Authorship(
        author: "ann", time: WireDate(secondsSinceReferenceDate: 1), position: Revision(7))
    private let second = Authorship(
        author: "bob", time: WireDate(secondsSinceReferenceDate: 2), position: Revision(9))

    private func created(_ fields: WireDictionary) throws -> Record {
        let draft = try EntityRules(entity).create(nil, fields, first)
        return Record(id: draft.id ?? "x", revision: Revision(1), fields: draft.fields)
    }

    @Test func `a new record has every field in declared order`() throws {
        let record = try created(["title": "t", "id": "a", "owner": "eve"])
        #expect(record.fields.keys == entity.fields.map(\.name.text))
        #expect(record["owner"] == "ann" && record["rank"] == 5 && record["text"] == .null)
    }

    @Test func `a record that no path can name, and that is there already, can be changed`() throws {
        let record = Record(id: "..", revision: Revision(1), fields: try created(["title": "t", "id": "..."]).fields)
        let rules = try EntityRules(entity)
        #expect(try rules.update(record, ["title": "u"], second).fields["title"] == "u")
        #expect(try rules.replace(record, ["title": "u"], second).id == "..")
    }

    @Test func `a record can be sent back as it was read`() throws {
        let record = try created(["title": "t", "id": "a", "serial": "s"])
        let rules = try EntityRules(entity)
        let updated = try rules.update(record, record.fields, second).fields
        let replaced = try rules.replace(record, record.fields, second).fields
        for result in [updated, replaced] {
            for field in entity.fields where field.name != "modified" {
                #expect(result[field.name.text] == record[field.name], "\(field.name)")
            }
            #expect(result["modified"] == .date(second.time))
        }
    }

    @Test func `a replacement falls back to defaults, an update keeps`() throws {
        let record = try created(["title": "t", "id": "a", "rank": 9, "text": "x"])
        let rules = try EntityRules(entity)
        #expect(try rules.replace(record, ["title": "u"], second).fields["rank"] == 5)
        #expect(try rules.update(record, ["title": "u"], second).fields["rank"] == 9)
        #expect(try rules.update(record, ["text": .null], second).fields["text"] == .null)
    }

    @Test func `what is wrong is refused with the field's name`() throws {
        let record = try created(["title": "t", "id": "a", "serial": "s"])
        let rules = try EntityRules(entity)
        let refused: [(String, () throws -> Void)] = [
            ("title", { _ = try rules.create(nil, [:], first) }),
            ("title", { _ = try rules.update(record, ["title": .null], second) }),
            ("other", { _ = try rules.update(record, ["other": 1], second) }),
            ("serial", { _ = try rules.update(record, ["serial": "t"], second) }),
            ("id", { _ = try rules.update(record, ["id": "b"], second) }),
            ("id", { _ = try rules.create(nil, ["title": "t", "id": "longer than 8"], first) }),
            ("id", { _ = try rules.create(nil, ["title": "t", "id": "."], first) }),
            ("id", { _ = try rules.create(nil, ["title": "t", "id": ".."], first) }),
            ("id", { _ = try rules.create("..", ["title": "t"], first) }),
            ("id", { _ = try rules.create("a", ["title": "t", "id": "b"], first) }),
        ]
        for (target, attempt) in refused {
            let error = #expect(throws: PorticoError.self, "\(target)") { try attempt() }
            #expect(error?.code == .requestInvalid && error?.target == target)
        }
    }

    @Test func `an integer key and its text stand for each other`() throws {
        let counted = Entity(
            "tickets", summary: "", key: EntityKey("number"), fields: [Field("number", .integer, isRequired: true)])
        let rules = try EntityRules(counted)
        #expect(try rules.id(ofKey: -7) == "-7")
        #expect(rules.keyValue(of: "-7") == -7)
        for text: RecordID in ["07", "+7", "7.0", "x", "9223372036854775808"] {
            #expect(rules.keyValue(of: text) == nil)
        }
    }

    @Test func `a declaration that contradicts itself is refused with its reason`() {
        func entity(_ fields: [Field], indexes: [Index] = [], rows: RowRules = .everyone) -> Entity {
            Entity("e", summary: "", key: EntityKey("id"), fields: fields, indexes: indexes, rows: rows)
        }
        let id = Field("id", .string)
        let wrong = [
            entity([]), entity([Field("id", .date)]), entity([id, Field("ID", .string)]),
            entity([id], indexes: [Index(["x"])]), entity([id, Field("t", .any)], indexes: [Index(["t"])]),
            entity([id], rows: RowRules(read: .owner("x"), write: .everyone)),
            entity([id, Field("n", .integer, source: .creator)]),
            entity([id, Field("n", .integer, defaultValue: "x")]),
        ]
        for entity in wrong { #expect(throws: PorticoError.self) { try EntityRules(entity) } }
    }
}
