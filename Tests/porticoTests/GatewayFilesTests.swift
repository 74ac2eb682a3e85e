import Foundation
import Testing

@testable import portico

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

    @Test func `data below the configuration's folder are not read by a program beside them`() {
        let files = GatewayFiles(data: "\(root)/etc/.portico", directory: "\(root)/etc", store: "portico.sqlite")
        #expect(files.isReadable(codeFolder: "\(root)/etc/tasks"))
        #expect(!files.isReadable(codeFolder: "\(root)/etc/.portico"))
        #expect(!files.isReadable(codeFolder: "\(root)/etc/.portico/workers"))
    }
}
