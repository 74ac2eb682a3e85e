import AdapterKit
import Foundation
import Synchronization

/// Files that live no longer than the process: in one folder, which is emptied at the start, readable by its owner alone.
public struct ScratchDirectory: ScratchStorage {
    /// Within the data directory.
    public static let folderName = "scratch"

    private let folder: URL

    /// Removes what another process left there.
    public init(_ folder: URL) throws {
        self.folder = folder
        // A symbolic link in its place goes itself, not what it leads to.
        if (try? FileManager.default.attributesOfItem(atPath: folder.path)) != nil {
            try FileManager.default.removeItem(at: folder)
        }
        try folder.makeDirectory()
    }

    public func create() throws -> any ScratchFile {
        let place = folder.appending(path: UUID().uuidString)
        return try ScratchDirectoryFile.translating {
            guard
                FileManager.default.createFile(
                    atPath: place.path, contents: nil, attributes: [.posixPermissions: 0o600])
            else { throw CocoaError(.fileWriteUnknown) }
            return ScratchDirectoryFile(place, try FileHandle(forWritingTo: place))
        }
    }
}

private final class ScratchDirectoryFile: ScratchFile {
    private let place: URL
    private let writing: Mutex<FileHandle>

    init(_ place: URL, _ writing: sending FileHandle) {
        self.place = place
        self.writing = Mutex(writing)
    }

    deinit { try? FileManager.default.removeItem(at: place) }

    func append(_ bytes: [UInt8]) throws {
        try Self.translating { try writing.withLock { try $0.write(contentsOf: Data(bytes)) } }
    }

    func contents() throws -> any ByteStream {
        try Self.translating { FilePieces(try FileHandle(forReadingFrom: place)) }
    }

    static func translating<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as CocoaError where error.code == .fileWriteOutOfSpace {
            throw PorticoError(.storeFull, "There is no room left for answers.", logDetail: "\(error)")
        } catch {
            throw PorticoError(.storeUnavailable, "An answer cannot be kept.", logDetail: "\(error)")
        }
    }
}

private final class FilePieces: ByteStream {
    private static let size = 64 << 10

    /// Nil once no caller asks any more.
    private let file: Mutex<FileHandle?>

    init(_ file: sending FileHandle) {
        self.file = Mutex(file)
    }

    func next() async throws -> [UInt8]? {
        try ScratchDirectoryFile.translating {
            try file.withLock { file in
                guard let piece = try file?.read(upToCount: Self.size), !piece.isEmpty else { return nil }
                return Array(piece)
            }
        }
    }

    func cancel() {
        file.withLock { file in
            try? file?.close()
            file = nil
        }
    }
}
