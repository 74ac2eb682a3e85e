import Foundation
import Testing

@testable import porticoctl

/// Files of records are taken apart between records, however long they are.
@Suite struct PartReaderTests {
    private func parts(_ text: String, _ ending: String, from: Int = 1) throws -> [PartReader.Part] {
        let url = FileManager.default.temporaryDirectory.appending(path: "parts-\(UUID().uuidString).\(ending)")
        try Data(text.utf8).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        let reader = try PartReader(url.path, from: from)
        var parts: [PartReader.Part] = []
        while let part = try reader.next() { parts.append(part) }
        return parts
    }

    private func text(_ part: PartReader.Part?) -> String { String(decoding: part?.bytes ?? [], as: UTF8.self) }

    @Test func `a short CSV file is one part with its header`() throws {
        let parts = try parts("id,name\n1,a\n2,\"b\nc\"\n", "csv")
        #expect(parts.count == 1 && text(parts.first) == "id,name\n1,a\n2,\"b\nc\"\n")
        #expect(parts.first?.location == "line 2" && parts.first?.position == ["first": "2"])
    }

    @Test func `a long CSV file is taken apart between records, the header before each part`() throws {
        let count = PartReader.records + 5
        let lines = (1...count).map { "\($0),\"x\ny\"\n" }
        let parts = try parts("id,text\n" + lines.joined(), "csv")
        #expect(parts.count == 2)
        #expect(parts.allSatisfy { text($0).hasPrefix("id,text\n") })
        #expect(text(parts.last) == "id,text\n" + lines.suffix(5).joined())
        #expect(parts.last?.first == 2 + 2 * PartReader.records)
    }

    @Test func `a list in JSON is taken apart between items`() throws {
        let count = PartReader.records + 2
        let items = (1...count).map { "{\"id\": \($0), \"t\": \"],[\\\"\"}" }
        let parts = try parts(" [" + items.joined(separator: " ,\n") + "]\n", "json")
        #expect(parts.count == 2 && parts.last?.first == PartReader.records + 1 && parts.last?.unit == "row")
        #expect(
            text(parts.last).filter { !$0.isWhitespace }
                == "[" + items.suffix(2).joined(separator: ",").filter { !$0.isWhitespace } + "]")
    }

    @Test func `loading goes on from a record, and with none left there is nothing`() throws {
        #expect(text(try parts("id\n1\n2\n3\n", "csv", from: 3).first) == "id\n2\n3\n")
        #expect(text(try parts("[1,2,3]", "json", from: 3).first) == "[3]")
        #expect(try parts("[1,2,3]", "json", from: 4).isEmpty)
    }

    @Test func `a file without records is one part all the same`() throws {
        let empty = try parts("[]", "json")
        #expect(empty.count == 1 && text(empty.first) == "[]" && empty.first?.unit == nil)
        #expect(text(try parts("id,name\n", "csv").first) == "id,name\n")
    }

    @Test func `what is no list is loaded whole, and never from a record on`() throws {
        let whole = try parts("{\"rows\": []}", "json")
        #expect(whole.count == 1 && text(whole.first) == "{\"rows\": []}" && whole.first?.position.isEmpty == true)
        let error = #expect(throws: CommandError.self) { try parts("{}", "json", from: 2) }
        #expect(error?.exitStatus == 2)
        #expect(throws: CommandError.self) { try parts("x", "unknown") }
        #expect(throws: CommandError.self) { try PartReader("/nowhere/at/all.csv", from: 1) }
    }
}
