import AdapterKit
import DurableFiles
import Foundation
import SQLiteStore

/// Backups in a folder: of another disk, or of another machine by a network file system.
///
/// The folder has to be there: one that is missing may be a disk that is not mounted. An object is written beside its place,
/// flushed, and moved there.
public struct FolderTarget: BackupTarget {
    private let folder: String

    /// `folder`: the whole path.
    public init(_ folder: String) {
        self.folder = folder.hasSuffix("/") && folder.utf8.count > 1 ? String(folder.dropLast()) : folder
    }

    public var place: String { folder }

    private func path(_ name: BackupObjectName) -> String { "\(folder)/\(name.text)" }

    public func write(_ bytes: [UInt8], to name: BackupObjectName) async throws {
        try await onThread {
            try makeParent(of: name)
            try DurableFiles.write(bytes, to: path(name))
        }
    }

    public func write(file source: String, to name: BackupObjectName) async throws {
        try await onThread {
            try makeParent(of: name)
            let unfinished = path(name) + ".new"
            try? FileManager.default.removeItem(atPath: unfinished)
            do {
                try FileCopy.run(from: source, to: unfinished)
                try DurableFiles.move(unfinished, to: path(name))
            } catch {
                try? FileManager.default.removeItem(atPath: unfinished)
                throw error
            }
        }
    }

    public func read(_ name: BackupObjectName, limit: Int) async throws -> [UInt8] {
        try await onThread {
            guard FileManager.default.fileExists(atPath: path(name)) else { throw Self.notFound(name) }
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path(name)))
            defer { try? file.close() }
            let bytes = Array(try file.read(upToCount: limit + 1) ?? Data())
            guard bytes.count <= limit else {
                throw PorticoError(.requestTooLarge, "An object of the backup is too large.", logDetail: name.text)
            }
            return bytes
        }
    }

    public func read(_ name: BackupObjectName, into target: String) async throws {
        try await onThread {
            guard FileManager.default.fileExists(atPath: path(name)) else { throw Self.notFound(name) }
            try FileCopy.run(from: path(name), to: target)
        }
    }

    public func list(_ folder: BackupObjectName) async throws -> [BackupObject] {
        try await onThread {
            try requireFolder()
            let root = URL(fileURLWithPath: path(folder), isDirectory: true)
            let keys: [URLResourceKey] = [.isRegularFileKey, .fileSizeKey]
            guard FileManager.default.fileExists(atPath: root.path) else { return [] }
            guard let found = FileManager.default.enumerator(at: root, includingPropertiesForKeys: keys) else {
                throw PorticoError(.storeUnavailable, "The backup folder \(self.folder) cannot be read.")
            }
            var objects: [BackupObject] = []
            for case let file as URL in found {
                let values = try? file.resourceValues(forKeys: Set(keys))
                let within = file.path.dropFirst(root.path.count + 1)
                guard values?.isRegularFile == true, !within.hasSuffix(".new"),
                    let name = BackupObjectName("\(folder.text)/\(within)")
                else { continue }
                objects.append(BackupObject(name, size: Int64(values?.fileSize ?? 0)))
            }
            return objects.sorted { $0.name < $1.name }
        }
    }

    public func remove(_ name: BackupObjectName) async throws {
        try await onThread {
            try DurableFiles.remove(path(name))
            // Folders that are empty now; one that is not stays.
            var parts = name.parts.dropLast()
            while !parts.isEmpty, rmdir("\(folder)/\(parts.joined(separator: "/"))") == 0 { parts.removeLast() }
        }
    }

    /// Throws where the folder is missing or cannot be written: for a check before anything runs.
    public func check() throws {
        try requireFolder()
        guard access(folder, W_OK | X_OK) == 0 else {
            throw PorticoError(
                .storeUnavailable,
                "The backup folder \(folder) cannot be written: give it to the user that the gateway runs as.")
        }
    }

    private func requireFolder() throws {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
            throw PorticoError(
                .storeUnavailable, "The backup folder \(folder) is not there: mount its disk, or make the folder.")
        }
    }

    private func makeParent(of name: BackupObjectName) throws {
        try requireFolder()
        let parent = URL(fileURLWithPath: path(name)).deletingLastPathComponent().path
        guard !FileManager.default.fileExists(atPath: parent) else { return }
        try FileManager.default.createDirectory(
            atPath: parent, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    private func onThread<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await DedicatedThread.run(label: "backups.folder") {
            do { return try work() } catch { throw failure(error) }
        }
    }

    private static func notFound(_ name: BackupObjectName) -> PorticoError {
        PorticoError(.recordNotFound, "An object of the backup is missing.", logDetail: name.text)
    }

    private func failure(_ error: any Error) -> PorticoError {
        switch error {
        case let error as PorticoError where error.code == .storeFull: full(error.logDetail ?? "")
        case let error as PorticoError where ["denied", "Read-only"].contains { error.logDetail?.contains($0) == true }:
            unwritable(error.logDetail ?? "")
        case let error as PorticoError: error
        case let error as CocoaError where [.fileReadNoSuchFile, .fileNoSuchFile].contains(error.code):
            PorticoError(.recordNotFound, "An object of the backup is missing.", logDetail: "\(error)")
        case let error as CocoaError where error.code == .fileWriteOutOfSpace: full("\(error)")
        case let error as CocoaError where error.code == .fileWriteNoPermission: unwritable("\(error)")
        default: PorticoError(.storeUnavailable, "The backup folder \(folder) cannot be used.", logDetail: "\(error)")
        }
    }

    private func full(_ detail: String) -> PorticoError {
        PorticoError(.storeFull, "The disk of the backup folder \(folder) is full.", logDetail: detail)
    }

    private func unwritable(_ detail: String) -> PorticoError {
        PorticoError(
            .storeUnavailable,
            "The backup folder \(folder) cannot be written: give it to the user that the gateway runs as.",
            logDetail: detail)
    }
}

/// Copies files piece by piece, and reads their digests.
enum FileCopy {
    private static let piece = 1 << 20

    /// Into a new file of mode 0600, durably. Throws ``PorticoError`` with `store.full` without room.
    static func run(from source: String, to target: String) throws {
        let file = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw failure(target) }
        defer { close(file) }
        try forEachPiece(of: source) { try append($0, to: file, target) }
        guard fsync(file) == 0 else { throw failure(target) }
    }

    /// SHA-256, as 64 hexadecimal digits.
    static func digest(of path: String) throws -> String {
        var hash = SHA256Text()
        try forEachPiece(of: path) { hash.update($0) }
        return hash.finish()
    }

    /// Writes all of the bytes at the file's position.
    static func append(_ bytes: UnsafeRawBufferPointer, to file: Int32, _ path: String) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = write(file, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure(path) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    static func failure(_ path: String) -> PorticoError {
        let detail = "\(path): \(String(cString: strerror(errno)))"
        return errno == ENOSPC
            ? PorticoError(.storeFull, "The disk is full.", logDetail: detail)
            : PorticoError(.storeUnavailable, "A file of the backup cannot be read or written.", logDetail: detail)
    }

    private static func forEachPiece(of path: String, _ take: (UnsafeRawBufferPointer) throws -> Void) throws {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw failure(path) }
        defer { close(file) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: piece, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = read(file, buffer.baseAddress, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(path) }
            if count == 0 { return }
            try take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }
}
