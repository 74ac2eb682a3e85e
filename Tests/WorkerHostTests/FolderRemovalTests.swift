import AdapterKit
import Foundation
import Testing

@testable import WorkerHost

@Suite struct FolderRemovalTests {
    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = Worker.newFolder()
        #expect(mkdir(folder, 0o700) == 0)
        try await body(folder)
        #expect(access(folder, F_OK) != 0)
    }

    @Test func aFolderThatNoPathReachesTheEndOfIsRemovedInTurns() async throws {
        try await withFolder { folder in
            var levels = open(folder, O_RDONLY | O_DIRECTORY)
            for level in 0..<2_100 {
                try #require(mkdirat(levels, "d", 0o700) == 0)
                if level % 100 == 0 { close(openat(levels, "file", O_CREAT | O_WRONLY, 0o600)) }
                let next = openat(levels, "d", O_RDONLY | O_DIRECTORY)
                close(levels)
                levels = next
            }
            close(levels)
            let removal = try FolderRemoval(folder)
            var turns = 1
            while try !removal.proceed(for: .milliseconds(5)) { turns += 1 }
            #expect(turns > 1)
        }
    }

    @Test func whatALinkLeadsToStays() async throws {
        let outside = Worker.newFolder()
        try FileManager.default.createDirectory(atPath: outside + "/kept", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: outside) }
        try await withFolder { folder in
            #expect(mkdir(folder + "/inner", 0o700) == 0)
            for path in [folder + "/link", folder + "/inner/link"] { #expect(symlink(outside, path) == 0) }
            await FolderRemover.remove(folder, log: .discarding)
        }
        try await withFolder { folder in
            #expect(rmdir(folder) == 0)
            #expect(symlink(outside, folder) == 0)
            await FolderRemover.remove(folder, log: .discarding)
        }
        #expect(access(outside + "/kept", F_OK) == 0)
    }

    @Test func foldersWithoutRightsAndNamesOfAnyBytesAreRemoved() async throws {
        try await withFolder { folder in
            #expect(mkdir(folder + "/\u{1}\\ \n", 0) == 0)
            #expect(mkdir(folder + "/outer", 0o700) == 0)
            #expect(mkdir(folder + "/outer/closed", 0o700) == 0)
            let name: [CChar] = [-1, -2, 0]
            let outer = open(folder + "/outer/closed", O_RDONLY | O_DIRECTORY)
            #expect(mkdirat(outer, name, 0) == 0)
            #expect(mkdirat(outer, "other", 0o700) == 0)
            close(outer)
            #expect(chmod(folder + "/outer/closed", 0) == 0)
            await FolderRemover.remove(folder, log: .discarding)
        }
    }

    @Test func oneThatIsNotThereIsRemoved() async throws {
        #expect(try FolderRemoval(Worker.newFolder() + "/not/there").proceed(for: .zero))
        #expect(try FolderRemoval(Worker.newFolder()).proceed(for: .zero))
    }

    @Test func itTakesFewDescriptorsWhateverTheDepth() async throws {
        try await withFolder { folder in
            var path = folder
            for level in 0..<200 {
                path += "/\(level % 10)"
                for sibling in 0..<3 { mkdir("\(path)-\(sibling)", 0o700) }
                #expect(mkdir(path, 0o700) == 0)
            }
            let removal = try FolderRemoval(folder)
            while try !removal.proceed(for: .zero) {
                #expect(removal.descriptors.count <= 4)
            }
        }
    }

    @Test func oneWhoseWorkerGoesOnToWriteIsGivenUp() async throws {
        try await withFolder { folder in
            #expect(mkdir(folder + "/new", 0o700) == 0)
            let removal = try FolderRemoval(folder)
            #expect(throws: FolderRemoval.Failure.self) {
                while try !removal.proceed(for: .zero) { mkdir(folder + "/new", 0o700) }
            }
            await FolderRemover.remove(folder, log: .discarding)
        }
    }
}
