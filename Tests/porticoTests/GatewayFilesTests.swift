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

    @Test func `a program reads its folder where none of the gateway's files are`() {
        for folder in ["srv/tasks", "srv", "other/bin", "database", "data/adapters/tasks/versions/1.0.0/bin"] {
            #expect(files.isReadable(programFolder: "\(root)/\(folder)"), "\(folder)")
        }
    }

    @Test func `a program reads no folder with the configuration, the data or the store`() {
        for folder in [
            "", "etc", "etc/tasks", "data", "data/attachments", "data/adapters", "data/adapters/tasks",
            "data/adapters/tasks/versions", "db", "etc/../etc",
        ] {
            #expect(!files.isReadable(programFolder: "\(root)/\(folder)"), "\(folder)")
        }
        #expect(!files.isReadable(programFolder: "/"))
        #expect(!files.isReadable(programFolder: "/dev/shm"))
    }

    @Test func `a program reads its libraries where they are not among the gateway's files`() {
        for folder in ["srv/lib", "etc/lib", "etc/tasks/lib", "data/adapters/tasks/versions/1.0.0/lib"] {
            #expect(files.isReadable(libraryFolder: "\(root)/\(folder)"), "\(folder)")
        }
        for folder in ["", "etc", "data", "data/lib", "db", "data/adapters"] {
            #expect(!files.isReadable(libraryFolder: "\(root)/\(folder)"), "\(folder)")
        }
    }
}
