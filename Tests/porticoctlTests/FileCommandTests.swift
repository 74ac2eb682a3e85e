import AdapterKit
import Foundation
import SQLiteStore
import Testing
import WireFormats

@testable import porticoctl

/// Commands that read files or write them.
@Suite struct FileCommandTests {
    private let temporary: TemporaryFolder
    private var folder: URL { temporary.url }

    init() throws { temporary = try TemporaryFolder() }

    private func file(_ name: String, _ text: String) throws -> String {
        let place = folder.appending(path: name)
        try Data(text.utf8).write(to: place)
        return place.path
    }

    private static let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let model = repository.appending(path: "Config/odata/reference.csdl.xml").path

    /// Runs a command against a server with these answers.
    private func run(
        _ command: [String], files: [String: [UInt8]] = [:],
        answers: @escaping @Sendable (AdminRequest) -> AdminServer.Answer = { _ in (200, [:]) }
    ) async throws -> (Porticoctl, [AdminRequest]) {
        let server = AdminServer(files: files, answers)
        let done = try await AdminServer.serving(server) { data, url in
            // `odata parse` asks no admin socket.
            let place = command.prefix(2) == ["odata", "parse"] ? [] : ["--data", data]
            return try await Porticoctl(
                command.prefix(2) + place + command.dropFirst(2).map { $0 == "URL" ? url : $0 })
        }
        return (done, server.requests)
    }

    @Test(
        arguments: [
            ("employees", "e.csv", "append", "text/csv"), ("users", "u.json", "replace", "application/json"),
            ("employees", "e.bplist", "append", "application/x-plist"), ("users", "u.XML", "append", "application/xml"),
        ])
    func `a file of records is loaded as it is, in the format of its ending`(
        adapter: String, name: String, mode: String, type: String
    ) async throws {
        let path = try file(name, "id\n1\n")
        let (done, requests) = try await run([adapter, "import", path, "--mode", mode, "--yes"]) { _ in
            (200, ["created": 1])
        }
        #expect(done.status == 0 && done.output == "created: 1\n", "\(done)")
        #expect(
            requests == [
                AdminRequest("POST", "/admin/v1/adapters/\(adapter)/import?mode=\(mode)", "id\n1\n", type: type)
            ])
    }

    @Test func `a file of an unknown kind, or none, is not sent`() async throws {
        let (unknown, first) = try await run(["users", "import", try file("u.txt", "x")])
        #expect(unknown.status == 2 && unknown.errors.contains("not known by its ending") && first.isEmpty)
        let (missing, second) = try await run(["users", "import", "/nowhere/at/all.csv"])
        #expect(missing.status == 1 && missing.errors.contains("cannot be read") && second.isEmpty)
    }

    @Test func `a feed's file is published as the value that it holds`() async throws {
        let (done, requests) = try await run(["feeds", "publish", "sonnets", try file("f.json", #"[{"a":1}]"#)]) { _ in
            (200, ["version": 2])
        }
        #expect(done.status == 0 && done.output == "version: 2\n", "\(done)")
        #expect(requests.map(\.target) == ["/admin/v1/adapters/feeds/operations/publish"])
        #expect(requests.first?.body == ["name": "sonnets", "content": [["a": 1]]])
    }

    @Test func `a feed's file that holds no value is not published`() async throws {
        let (done, requests) = try await run(["feeds", "publish", "sonnets", try file("f.json", "{")])
        #expect(done.status == 1 && done.errors.contains("f.json") && requests.isEmpty)
        let (table, none) = try await run(["feeds", "publish", "sonnets", try file("f.csv", "a\n")])
        #expect(table.status == 2 && none.isEmpty)
    }

    private static func targets(_ requests: [AdminRequest]) -> [String] {
        requests.map { String($0.target.drop { $0 != "?" }.dropFirst()) }
    }

    @Test func `a short file of rows is one part, with no check before it`() async throws {
        let path = try file("rows.csv", "id\n1\n2\n")
        let (done, requests) = try await run([
            "odata", "import", "sa/les", "Orders", path, "--mode", "replace", "--yes",
        ]) { _ in
            (200, ["created": 2, "deleted": 5])
        }
        #expect(done.status == 0 && done.output == "created: 2\ndeleted: 5\n", "\(done)")
        #expect(requests.map(\.body) == ["id\n1\n2\n"])
        #expect(Self.targets(requests) == ["mode=replace&first=2&service=sa%2Fles&set=Orders"])
    }

    private func long() throws -> String {
        try file("rows.csv", "id\n" + (1...(PartReader.records + 2)).map { "\($0)\n" }.joined())
    }

    @Test func `a long file of rows is checked as a whole, then loaded part by part`() async throws {
        let path = try long()
        let (done, requests) = try await run(["odata", "import", "s", "Orders", path, "--mode", "replace", "--yes"]) {
            _ in
            (200, ["created": 3, "deleted": 1])
        }
        #expect(done.status == 0 && done.output == "created: 6\ndeleted: 2\n", "\(done)")
        let second = PartReader.records + 2
        #expect(
            Self.targets(requests)
                == [
                    "mode=check&first=2", "mode=check&first=\(second)", "mode=replace&first=2",
                    "mode=append&first=\(second)",
                ].map { "\($0)&service=s&set=Orders" })
        #expect(requests.last?.body == .string("id\n\(PartReader.records + 1)\n\(PartReader.records + 2)\n"))
    }

    @Test func `a part that is refused while the file is checked leaves everything as it was`() async throws {
        let path = try long()
        let (done, requests) = try await run(["odata", "import", "s", "Orders", path]) { request in
            request.target.contains("first=2&") ? (200, [:]) : (400, ["error": ["message": "No."]])
        }
        #expect(done.status == 1 && done.errors == "porticoctl: No. Nothing was loaded.\n", "\(done)")
        #expect(requests.count == 2)
    }

    @Test func `a part that fails while the file is loaded says what is kept and how to go on`() async throws {
        let path = try long()
        let line = PartReader.records + 2
        let (done, _) = try await run(["odata", "import", "s", "Orders", path, "--mode", "replace", "--yes"]) {
            request in
            let isSecond = request.target.contains("mode=append")
            return isSecond ? (504, ["error": ["message": "Late."]]) : (200, ["created": 3, "deleted": 2])
        }
        #expect(
            done.errors == """
                porticoctl: Late. Whether the part that begins at line \(line) was loaded is not known. 3 rows before line \
                \(line) are kept. 2 that were there before were removed. `--from \(line)` goes on after them.\n
                """, "\(done)")
        #expect(done.status == 1)
    }

    @Test func `an import goes on from a line`() async throws {
        let (done, requests) = try await run(
            ["odata", "import", "s", "Orders", try file("rows.csv", "id\n1\n2\n3\n"), "--from", "4"])
        #expect(done.status == 0 && requests.map(\.body) == ["id\n3\n"], "\(done)")
        #expect(Self.targets(requests) == ["mode=append&first=4&service=s&set=Orders"])
    }

    @Test func `a text is shown as the grammar understands it, or where it goes wrong`() async throws {
        let (right, _) = try await run(["odata", "parse", "--rule", "filter", "$filter=a%20eq%201"])
        #expect(right.status == 0 && right.json["rule"] == "filter" && right.json["tree"] != nil, "\(right)")
        let (wrong, _) = try await run(["odata", "parse", "--rule", "filter", "$filter=a%20eq"])
        #expect(wrong.status == 1 && wrong.json["error"]?["position"]?.int64Value ?? 0 > 0, "\(wrong)")
    }

    @Test func `names are held against the model of a file or of a gateway`() async throws {
        let metadata = try Data(contentsOf: URL(filePath: Self.model))
        let files = ["/odata/v4/reference/$metadata": [UInt8](metadata)]
        for source in [["--service", Self.model], ["--service", "reference", "--url", "URL"]] {
            let parse = ["odata", "parse"] + source + ["--rule", "odataRelativeUri"]
            let (known, _) = try await run(parse + ["Products?$filter=Name%20eq%20'a'"], files: files)
            #expect(known.status == 0, "\(known)")
            let (unknown, _) = try await run(parse + ["Products?$filter=Nothing%20eq%20'a'"], files: files)
            #expect(unknown.status == 1 && unknown.errors.contains("Nothing"), "\(unknown)")
        }
    }

    @Test func `a model that is not to be had ends the command`() async throws {
        let served = ["odata", "parse", "--service", "s", "--url", "URL", "--rule", "filter", "$filter=a"]
        for (status, expected) in [(401, Int32(4)), (404, 1)] {
            let (done, _) = try await run(served) { _ in (status, .null) }
            #expect(done.status == expected, "\(done)")
        }
        let (nowhere, _) = try await run(
            ["odata", "parse", "--service", "/nowhere.xml", "--rule", "filter", "$filter=a"])
        #expect(nowhere.status == 1 && nowhere.errors.contains("cannot be read"))
        let (none, _) = try await run(
            ["odata", "parse", "--service", try file("m.xml", "<a/>"), "--rule", "filter", "$filter=a"])
        #expect(none.status == 1 && none.errors.contains("no model"))
    }

    private static let description = #"""
        {"paths": {"/api/v1/shop/operations/order": {"post": {"x-portico-adapter": "shop",
        "x-portico-name": "shop.order", "summary": "Orders.", "responses": {"200": {"description": "Done"}}}}}}
        """#

    @Test func `a client is generated from a description that was saved or is asked for`() async throws {
        let description = try file("openapi.json", Self.description)
        let generate = ["client", "generate", "--service", "shop", "--language"]
        let swift = try await Porticoctl(generate + ["swift", "--description", description])
        #expect(swift.status == 0 && swift.output.contains("func order("), "\(swift)")
        let target = folder.appending(path: "into/deep").path
        let written = try await Porticoctl(
            generate + ["typescript", "--description", description, "--into", target])
        let place = written.output.split(separator: "\n").first.map(String.init) ?? ""
        #expect(written.status == 0 && place.hasPrefix(target), "\(written)")
        #expect(try String(contentsOf: URL(filePath: place), encoding: .utf8).contains("order("))
        let unknown = try await Porticoctl(
            ["client", "generate", "--service", "x", "--language", "swift", "--description", description])
        #expect(unknown.status == 1 && unknown.errors.contains("there are shop"), "\(unknown)")
        let server = AdminServer(files: ["/openapi.json": Array(Self.description.utf8)]) { _ in (404, .null) }
        let asked = try await AdminServer.serving(server) { _, url in
            try await Porticoctl(["client", "generate", "--service", "shop", "--language", "swift", "--url", url])
        }
        #expect(asked.output == swift.output)
        let none = try await AdminServer.serving(AdminServer { _ in (404, .null) }) { _, url in
            try await Porticoctl(["client", "generate", "--service", "shop", "--language", "swift", "--url", url])
        }
        #expect(none.status == 1 && none.errors.contains("answered 404"), "\(none)")
    }

    @Test func `an OData client is generated from metadata, in Swift alone`() async throws {
        let generate = ["client", "generate", "--service", "reference", "--metadata", Self.model, "--language"]
        let swift = try await Porticoctl(generate + ["swift"])
        #expect(swift.status == 0 && swift.output.contains("Product"), "\(swift.errors)")
        let other = try await Porticoctl(generate + ["typescript"])
        #expect(other.status == 1 && other.errors.contains("Swift alone"))
    }

    private struct FixedClock: WallClock {
        func now() -> WireDate { WireDate(secondsSinceReferenceDate: 12 * 3600) }
    }

    @Test func `a backup is checked and laid beside the store for the next start`() async throws {
        let path = folder.appending(path: "store.sqlite").path
        let store = try SQLiteStore(SQLiteStoreSettings(path: path, clock: FixedClock()))
        let backup = folder.appending(path: "backup").path
        _ = try await store.backUp(to: backup) { _ in }
        await store.close()
        let data = folder.appending(path: "data").path
        let done = try await Porticoctl(["restore", backup, "--yes", "--data", data, "--output", "json"])
        #expect(done.status == 0 && done.json["takesEffect"] == "at the gateway's next start", "\(done)")
        #expect(done.json["attachments"]?["count"] == 0)
        #expect(FileManager.default.fileExists(atPath: data + "/portico.sqlite.restored"))
        try Data([0]).write(to: URL(filePath: backup + "/SHA256SUMS"))
        let damaged = try await Porticoctl(["restore", backup, "--yes", "--data", data])
        #expect(damaged.status == 1 && damaged.errors.contains("SHA256SUMS"), "\(damaged)")
        let none = try await Porticoctl(["restore", folder.path, "--yes", "--data", data])
        #expect(none.status == 1 && none.errors.contains("There is no backup in this directory."), "\(none)")
    }
}

/// A folder for one test, removed with it.
private final class TemporaryFolder: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "ctl-files-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: url) }
}
