import AdapterKit
import Foundation
import Testing

@testable import ConnectedSystems

/// A table in a folder of its own, read as one state of a connection file reads it.
private struct Table {
    let path: String
    let source: FileSource

    init(_ content: [UInt8], separator: String? = nil) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "files-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appending(path: "a.csv").path
        try Data(content).write(to: URL(fileURLWithPath: path))
        let more = separator.map { "separator: \($0), " } ?? ""
        let file =
            "title: x\nentities: {a: {file: a.csv, format: csv, \(more)key: id, fields: {id: string, name: string}}}\n"
        let connection = try Connection(file, file: "c.yaml")
        source = try #require(connection.entities[0].file(in: folder.path, connection.revision))
    }

    func remove() throws {
        try FileManager.default.removeItem(atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path)
    }
}

@Suite struct FileSourceTests {
    @Test func `a file is read, and not again while it is as it was`() async throws {
        let table = try Table(Array("id,name\n1,Ann\n".utf8))
        defer { try? table.remove() }
        let later = WireDate(secondsSince1970: Date().timeIntervalSince1970 + 60)
        let page = try await table.source.page(MirrorRequest("a"), at: later)
        #expect(page.rows == [["id": "1", "name": "Ann"]])
        let again = try await table.source.page(MirrorRequest("a", since: page.cursor), at: later)
        #expect(again.rows == [] && again.cursor == page.cursor)
    }

    @Test func `a file that is being written is not taken`() async throws {
        let table = try Table(Array("id,name\n1,Ann\n".utf8))
        defer { try? table.remove() }
        let writing = Task {
            // Until the reader has come to its end.
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: table.path))
            try handle.seekToEnd()
            var number = 2
            while !Task.isCancelled, number < 10_000 {
                try handle.write(contentsOf: Data("\(number),Bob\n".utf8))
                number += 1
                try? await Task.sleep(for: .milliseconds(10))
            }
            try handle.close()
        }
        let now = WireDate(secondsSince1970: 0)
        await #expect(throws: PorticoError.self) { try await table.source.page(MirrorRequest("a"), at: now) }
        writing.cancel()
        try await writing.value
        // It has come to rest.
        #expect(try await table.source.page(MirrorRequest("a"), at: now).rows.count > 1)
    }

    @Test(arguments: [
        (Array("id;name\n1;Ann\n".utf8), "the header has one field with a semicolon in it"),
        (Array("id\tname\n1\tAnn\n".utf8), "the header has one field with a tab in it"),
        (Array("id,name\r1,Ann\r2,Bob".utf8), "line 1 has a CR without LF"),
        (Array("id\n1\r2\r3\n".utf8), "line 2 has a CR without LF"),
        (Array("id,name\n1,Gr".utf8) + [0xfc] + Array("n\n".utf8), "line 2, column name, has bytes that are not UTF-8"),
    ])
    func `another separator and another encoding are named`(content: [UInt8], message: String) throws {
        let table = try Table(content)
        defer { try? table.remove() }
        let refusal = #expect(throws: MirrorRefusal.self) { try table.source.document() }
        #expect(refusal?.detail.contains(message) == true)
    }

    @Test(arguments: [("semicolon", ";"), ("tab", "\t"), ("bar", "|"), ("comma", ",")])
    func `a file says what separates its fields`(name: String, character: String) throws {
        let text = "id,name\n1,\"A,nn\"\n".split(separator: ",", omittingEmptySubsequences: false)
        let table = try Table(Array(text.joined(separator: character).utf8), separator: name)
        defer { try? table.remove() }
        let rows = try table.source.mapping.rows(table.source.document()).rows
        #expect(rows == [["id": "1", "name": .string("A\(character)nn")]])
    }

    @Test func `only csv has a separator`() throws {
        let file = "title: x\nentities: {a: {file: a.json, separator: tab, key: id, fields: {id: string}}}\n"
        #expect(throws: (any Error).self) { try Connection(file, file: "c.yaml") }
    }

    @Test func `a byte order mark is no part of the first name`() throws {
        let table = try Table([0xef, 0xbb, 0xbf] + Array("id,name\n1,Ann\n".utf8))
        defer { try? table.remove() }
        #expect(try table.source.mapping.rows(table.source.document()).rows.first?["id"] == "1")
    }
}
