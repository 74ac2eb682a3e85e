import BuiltInAdapters
import Foundation
import HostConfiguration
import Testing

@testable import Host

/// The folders that a program may read without being configured to.
@Suite struct GatewayFilesTests {
    private let root: String
    private let files: GatewayFiles

    init() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "files-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        root = folder.resolvingSymlinksInPath().path
        files = GatewayFiles(data: "\(root)/data", directory: "\(root)/etc", store: "\(root)/db/portico.sqlite")
    }

    @Test func `a program reads its folder, and that of its libraries, where none of the gateway's files are`() {
        for folder in [
            "srv/tasks", "srv", "srv/lib", "other/bin", "database", "etc/tasks", "etc/tasks/lib", "etc/lib",
            "data/adapters/tasks/versions/1.0.0/bin", "data/adapters/tasks/versions/1.0.0/lib",
        ] {
            #expect(files.isReadable(codeFolder: "\(root)/\(folder)"), "\(folder)")
        }
    }

    @Test func `a program reads no folder with the configuration, the data or the store`() {
        for folder in [
            "", "etc", "data", "data/lib", "data/attachments", "data/adapters", "data/adapters/tasks",
            "data/adapters/tasks/versions", "db", "etc/../etc",
        ] {
            #expect(!files.isReadable(codeFolder: "\(root)/\(folder)"), "\(folder)")
        }
        #expect(!files.isReadable(codeFolder: "/"))
        #expect(!files.isReadable(codeFolder: "/dev/shm"))
    }

    @Test func `a worker is given no file that the configuration names, whatever it is called`() throws {
        let manager = FileManager.default
        for folder in ["srv/tasks/keys", "etc/tasks", "recordings", "data"] {
            try manager.createDirectory(atPath: "\(root)/\(folder)", withIntermediateDirectories: true)
        }
        for file in [
            "srv/tasks/www.notion.so", "srv/tasks/keys/gateway.example.pl", "etc/portico.yaml", "etc/modules.py",
        ] {
            #expect(manager.createFile(atPath: "\(root)/\(file)", contents: nil))
        }
        try manager.createSymbolicLink(
            atPath: "\(root)/data/key", withDestinationPath: "../srv/tasks/keys/gateway.example.pl")
        let files = files.naming([
            NamedPath(key: "http.tls.key", path: "key", from: .data),
            NamedPath(key: "push.webhook.secret", path: "\(root)/srv/tasks/www.notion.so", from: .workingDirectory),
            NamedPath(key: "upstreams.a.record", path: "../recordings", from: .configuration),
            NamedPath(key: "the configuration", path: "\(root)/etc/portico.yaml", from: .workingDirectory),
        ])
        func refusal(_ path: String) throws -> String? {
            files.refusal(of: try #require(ResolvedPath(existing: "\(root)/\(path)"), "\(path)"))
        }
        #expect(try refusal("srv/tasks/keys/gateway.example.pl")?.hasPrefix("http.tls.key names it") == true)
        #expect(try refusal("srv/tasks/www.notion.so")?.hasPrefix("push.webhook.secret names it") == true)
        #expect(try refusal("recordings")?.hasPrefix("upstreams.a.record names it") == true)
        #expect(try refusal("etc/portico.yaml")?.hasPrefix("the configuration names it") == true)
        for own in ["etc", "data", ""] {
            #expect(try refusal(own) == "the gateway's own files are there", "\(own)")
        }
        // What is listed for a program may lie with the configuration, and around what is named.
        for path in ["etc/modules.py", "etc/tasks", "srv/tasks", "srv/tasks/keys"] {
            #expect(try refusal(path) == nil, "\(path)")
        }
        #expect(files.isReadable(codeFolder: "\(root)/srv/tasks"))
        #expect(!files.isReadable(codeFolder: "\(root)/recordings"))
        #expect(
            Set(files.namedFiles(below: "\(root)/srv").map(\.key)) == ["http.tls.key", "push.webhook.secret"])
        // As it is written, since links lead elsewhere later.
        for path in [
            "data/key", "srv/tasks/www.notion.so", "recordings", "etc/portico.yaml", "data", "etc",
            "db/portico.sqlite-wal",
        ] {
            #expect(files.closed.map { URL(filePath: $0).standardized.path }.contains("\(root)/\(path)"), "\(path)")
        }
    }

    @Test func `data below the configuration's folder are not read by a program beside them`() {
        let files = GatewayFiles(data: "\(root)/etc/.portico", directory: "\(root)/etc", store: "portico.sqlite")
        #expect(files.isReadable(codeFolder: "\(root)/etc/tasks"))
        #expect(!files.isReadable(codeFolder: "\(root)/etc/.portico"))
        #expect(!files.isReadable(codeFolder: "\(root)/etc/.portico/workers"))
    }
}

/// What adapters' options and connection files name.
@Suite struct FilesOfAdaptersTests {
    private func named(_ text: String, _ reference: ConfigurationReference) throws -> Set<String> {
        let found = NamedPath.all(
            in: try YAMLDocument.read(text, file: "c.yaml"), reference: reference,
            secrets: SecretSource(environment: [:]) { _ in "" })
        return Set(found.map(\.path)).subtracting(["c.yaml"])
    }

    @Test func `files that options of adapters name are closed to programs`() throws {
        let reference = HostReference.reference(for: BuiltInAdapters.all.map { ConfigurableAdapter($0) })
        let text = """
            adapters:
              odata: { services: { shop: { model: m.xml, seed: s.json, sapName: NO_FILE } } }
              odata-reference: { seed: r.json }
              employees: { wsdl: w.xml }
            """
        #expect(try named(text, reference) == ["m.xml", "s.json", "r.json", "w.xml"])
    }

    @Test func `files that a connection file names are closed, from its own folder on`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "connection-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let text = """
            title: People
            summary: Who works where.
            entities:
              staff:
                summary: Staff.
                file: staff.csv
                key: id
                fields: { id: { type: string, maximumLength: 40 } }
              others:
                summary: Others.
                file: /srv/others.csv
                key: id
                fields: { id: { type: string, maximumLength: 40 } }
            """
        try text.write(toFile: "\(folder)/people.yaml", atomically: true, encoding: .utf8)
        let root = try YAMLDocument.read("adapters: { people: { connect: \(folder)/people.yaml } }", file: "c.yaml")
        let adapter = try #require(
            try ConnectionPlan(root, overrides: [], directory: "/etc/portico").adapters(besides: []).first)
        let connect = "adapters: { people: { connect: people.yaml } }"
        #expect(try named(connect, HostReference.reference(for: [adapter])) == ["people.yaml"])
        #expect(
            Set(adapter.namedByConnection) == [
                NamedPath(key: "adapters.people.connect", path: "\(folder)/staff.csv", from: .workingDirectory),
                NamedPath(key: "adapters.people.connect", path: "/srv/others.csv", from: .workingDirectory),
            ])
    }
}
