import AdapterKit
import Foundation
import Testing

@testable import ConnectedSystems

private func rows(
    _ text: String, _ format: DocumentFormat = .json, list: String = "/items", success: String? = nil
) throws -> RowMapping.Rows {
    let mapping = RowMapping(
        format: format, success: success.flatMap { DocumentPath($0) }, list: DocumentPath(list) ?? .root,
        fields: [
            FieldMapping(name: "id", type: .integer, from: DocumentPath(tokens: ["id"]), isRequired: true, summary: ""),
            FieldMapping(
                name: "name", type: .string(maximumLength: 10), from: DocumentPath(tokens: ["n"]), isRequired: false,
                summary: ""),
        ], key: "id", deleted: DocumentPath(tokens: ["gone"]))
    return try mapping.rows(try format.read(Array(text.utf8)))
}

@Suite struct RowMappingTests {
    @Test func `rows have the fields that stand in them, and those that are gone have their keys`() throws {
        let found = try rows(
            #"{"items": [{"id": 1, "n": "a", "x": 1}, {"id": 2, "gone": true}, {"id": 3, "gone": false}]}"#)
        #expect(found.rows == [["id": 1, "name": "a"], ["id": 3]])
        #expect(found.removed == ["2"])
        #expect(found.count == 3)
        #expect(found.lastRow == ["id": 3])
    }

    @Test func `only true and a date delete, and what is neither is reported and deletes nothing`() throws {
        for gone in ["true", "1", #""true""#, #""2026-11-23""#, #""2026-11-23T08:00:00Z""#] {
            #expect(try rows(#"{"items": [{"id": 1, "gone": \#(gone)}]}"#).removed == ["1"], "\(gone)")
        }
        for present in ["false", "null", "0", "\"\""] {
            #expect(try rows(#"{"items": [{"id": 1, "gone": \#(present)}]}"#).rows == [["id": 1]], "\(present)")
        }
        for unreadable in ["{}", "[]", #"{"a": 1}"#, #""no""#, #""abc""#, "1.5", "7"] {
            let found = try rows(#"{"items": [{"id": 1, "gone": \#(unreadable)}]}"#)
            #expect(found.rows == [["id": 1, "/gone": true]], "\(unreadable)")
            #expect(found.removed.isEmpty)
        }
    }

    @Test(arguments: [
        #"{"items": {}}"#, #"{"items": "a"}"#, "{}", "[]", "null", "7", #"{"items": [1]}"#,
        #"{"items": [[]]}"#, #"{"items": [null]}"#, #"{"items": [{"id": 1}"#, "<html></html>", "",
    ])
    func `an answer without such a list is refused`(text: String) {
        #expect(throws: MirrorRefusal.self) { try rows(text) }
    }

    @Test func `a list that is null is empty, and a document that is null has no list`() throws {
        let found = try rows(#"{"items": null}"#)
        #expect(found.rows.isEmpty && found.removed.isEmpty && found.count == 0)
        #expect(throws: MirrorRefusal.self) { try rows("null", list: "") }
    }

    @Test func `deep answers and answers with a binary mess are refused`() {
        #expect(throws: MirrorRefusal.self) {
            try rows(
                #"{"items": "# + String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000) + "}")
        }
        for bytes in [[0xFF, 0xFE], [0x62, 0x70, 0x6C, 0x69, 0x73, 0x74], Array(repeating: 0, count: 9)] as [[UInt8]] {
            for format in DocumentFormat.allCases {
                let text = String(decoding: bytes, as: UTF8.self)
                #expect(throws: MirrorRefusal.self, "\(format)") { try rows(text, format) }
                #expect(throws: MirrorRefusal.self, "\(format)") { _ = try format.read([0xFF] + bytes) }
            }
        }
    }

    @Test func `elements of XML are rows, one of them or none too`() throws {
        let list = "/list/item"
        #expect(
            try rows("<list><item><id>1</id><n>a</n></item><item><id>2</id><n/></item></list>", .xml, list: list).rows
                == [["id": 1, "name": "a"], ["id": 2, "name": ""]])
        #expect(try rows("<list><item><id>1</id></item></list>", .xml, list: list).rows == [["id": 1]])
        #expect(try rows("<list/>", .xml, list: list).rows == [])
        #expect(try rows("<list count=\"0\"/>", .xml, list: list).rows == [])
        #expect(throws: MirrorRefusal.self) { try rows("<error><item/></error>", .xml, list: list) }
        #expect(throws: MirrorRefusal.self) { try rows("<list><item>", .xml, list: list) }
    }

    @Test func `a property list has keys, and a table has a header`() throws {
        let plist = """
            <?xml version="1.0"?><plist version="1.0"><dict><key>items</key><array><dict><key>id</key><integer>5</integer>\
            </dict></array></dict></plist>
            """
        #expect(try rows(plist, .plist).rows == [["id": 5]])
        #expect(
            try rows("id,n\n1,\"a,b\"\n2,\n", .csv, list: "").rows == [
                ["id": 1, "name": "a,b"], ["id": 2, "name": ""],
            ])
        for broken in ["id,id\n1,2\n", "id,n\n1\n", "id\n\"1\n", ""] {
            #expect(throws: MirrorRefusal.self) { try rows(broken, .csv, list: "") }
        }
    }

    @Test func `an answer that says it failed is refused`() throws {
        #expect(try rows(#"{"ok": true, "items": []}"#, success: "/ok").rows == [])
        for lie in [#"{"ok": false, "items": []}"#, #"{"items": []}"#, #"{"ok": null, "items": []}"#] {
            #expect(throws: MirrorRefusal.self) { try rows(lie, success: "/ok") }
        }
    }

    @Test func `keys that are none stay as they stand, so that the mirror knows that a row has none`() throws {
        let long = String(repeating: "k", count: 10_240)
        let found = try rows(#"{"items": [{"id": null}, {}, {"id": "\#(long)"}, {"id": {"a": 1}}, {"id": 1.5}]}"#)
        #expect(found.rows == [["id": .null], [:], ["id": .string(long)], ["id": ["a": 1]], ["id": 1.5]])
    }
}
