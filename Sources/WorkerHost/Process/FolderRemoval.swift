import AdapterKit
import Glibc

/// Removes folders that workers have written, whatever is in them.
public enum FolderRemover {
    /// The time for which it goes on before others get the thread.
    private static let turn = Duration.milliseconds(50)

    /// Returns when the folder is removed, when it cannot be, which is a warning in the log, or after `patience`: then it goes
    /// on by itself for as long as the process lives. `patience`: nil for as long as it takes, half of the time.
    public static func remove(_ path: String, patience: Duration? = .seconds(2), log: Log) async {
        let end = patience.map { ContinuousClock.now.advanced(by: $0) }
        do {
            let removal = try FolderRemoval(path)
            while try !removal.proceed(for: turn) {
                guard let end else {
                    try await Task.sleep(for: turn)
                    continue
                }
                guard .now < end else {
                    Task.detached(priority: .background) { await remove(path, patience: nil, log: log) }
                    return
                }
                await Task.yield()
            }
        } catch {
            log.warning(
                "folder of a worker could not be removed", ["folder": .text(path), "detail": .text("\(error)")])
        }
    }
}

/// Removes one folder by descriptors: nothing beside it is touched, also while a worker changes it.
///
/// No symbolic link is followed. What is in a folder of the folder is removed there; folders in that one are moved up beside it
/// first. So however deep it is, there are five descriptors at most and no recursion. To be used by one task.
final class FolderRemoval {
    /// A file or folder that cannot be removed.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private typealias Name = [CChar]

    /// The descriptor of the folder that has the folder; -1: there is none.
    private let parent: Int32
    private let name: Name
    private var folder: Int32 = -1
    /// The listing of the folder; nil: it was read to its end.
    private var outer: OpaquePointer?
    /// The listing of a folder in it, and its name.
    private var inner: (listing: OpaquePointer, name: Name)?
    /// Folders that were moved up have this name and a number.
    private let prefix = ".portico-removed-\(UInt64.random(in: 0...(.max)))-"
    private var (moved, emptied) = (0, 0)
    private var passes = 0
    private var failure: Failure?

    /// A worker that lives may add files while others are removed.
    private static let mostPasses = 3

    /// Throws ``Failure`` where the folder above cannot be opened. One that is not there is removed.
    init(_ path: String) throws {
        name = Array(path.utf8.split(separator: UInt8(ascii: "/")).last.flatMap { String($0) }?.utf8CString ?? [0])
        parent = open(path.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard parent >= 0 || errno == ENOENT else { throw Self.failure("open", name) }
    }

    deinit {
        for listing in [inner?.listing, outer] { listing.map { _ = closedir($0) } }
        for descriptor in [folder, parent] where descriptor >= 0 { close(descriptor) }
    }

    /// The descriptors that it has open.
    var descriptors: [Int32] {
        [folder, parent].filter { $0 >= 0 } + [inner?.listing, outer].compactMap { $0.map(dirfd) }
    }

    /// Goes on for about so long. True when the folder is not there any more. Throws ``Failure`` where something stays.
    func proceed(for time: Duration) throws -> Bool {
        let end = ContinuousClock.now.advanced(by: time)
        repeat {
            if try step() { return true }
        } while .now < end
        return false
    }

    /// One file, or the end of one folder.
    private func step() throws -> Bool {
        if let inner {
            if let entry = Self.next(inner.listing) {
                removeOrMoveUp(entry, of: dirfd(inner.listing))
            } else {
                closedir(inner.listing)
                self.inner = nil
                note(unlinkat(folder, inner.name, AT_REMOVEDIR), "rmdir", inner.name)
            }
            return false
        }
        if let outer {
            if let entry = Self.next(outer) {
                if !removeFile(entry, of: folder) { enter(entry) }
            } else {
                closedir(outer)
                self.outer = nil
            }
            return false
        }
        if emptied < moved {
            enter(Array("\(prefix)\(emptied)".utf8CString))
            emptied += 1
            return false
        }
        return try isRemoved()
    }

    private func isRemoved() throws -> Bool {
        guard parent >= 0 else { return true }
        if unlinkat(parent, name, 0) == 0 || unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT {
            return true
        }
        guard passes < Self.mostPasses else { throw failure ?? Self.failure("rmdir", name) }
        passes += 1
        if folder < 0 { folder = Self.openFolder(name, of: parent) }
        guard folder >= 0, let listing = Self.list(".", of: folder) else { throw Self.failure("open", name) }
        outer = listing
        return false
    }

    /// Reads the folder of this name next.
    private func enter(_ entry: Name) {
        // It may be one that was moved up, and was there when this was read.
        guard let listing = Self.list(entry, of: folder) else {
            if errno != ENOENT { note(-1, "open", entry) }
            return
        }
        inner = (listing, entry)
    }

    private func removeOrMoveUp(_ entry: Name, of inner: Int32) {
        guard !removeFile(entry, of: inner) else { return }
        let place = Array("\(prefix)\(moved)".utf8CString)
        var result = renameat(inner, entry, folder, place)
        if result != 0, errno == EACCES {
            // Of a folder that is moved, `..` changes, which is a write to it.
            Self.allow(entry, of: inner)
            result = renameat(inner, entry, folder, place)
        }
        if result == 0 { moved += 1 } else { note(result, "rename", entry) }
    }

    /// False where it is a folder.
    private func removeFile(_ entry: Name, of folder: Int32) -> Bool {
        var result = unlinkat(folder, entry, 0)
        if result != 0, errno == EACCES, fchmod(folder, 0o700) == 0 { result = unlinkat(folder, entry, 0) }
        if result != 0, errno == EISDIR || errno == EPERM { return false }
        note(result, "unlink", entry)
        return true
    }

    /// The first failure is the reason; what is not there any more is none.
    private func note(_ result: Int32, _ call: String, _ entry: Name) {
        guard result != 0, errno != ENOENT, failure == nil else { return }
        failure = Self.failure(call, entry)
    }

    private static func failure(_ call: String, _ entry: Name) -> Failure {
        let reason = String(cString: strerror(errno))
        let name = String(decoding: entry.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return Failure(description: "\(call) \(name): \(reason)")
    }

    /// The next name that is not the folder's own or its parent's.
    private static func next(_ listing: OpaquePointer) -> Name? {
        while let entry = readdir(listing) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: tuple.pointee)) {
                    Array(UnsafeBufferPointer(start: $0, count: strlen($0) + 1))
                }
            }
            let (dot, end) = (CChar(UInt8(ascii: ".")), CChar(0))
            if name != [dot, end], name != [dot, dot, end] { return name }
        }
        return nil
    }

    private static func list(_ entry: String, of folder: Int32) -> OpaquePointer? {
        list(Array(entry.utf8CString), of: folder)
    }

    private static func list(_ entry: Name, of folder: Int32) -> OpaquePointer? {
        let descriptor = openFolder(entry, of: folder)
        guard descriptor >= 0 else { return nil }
        if let listing = fdopendir(descriptor) { return listing }
        close(descriptor)
        return nil
    }

    private static func openFolder(_ entry: Name, of folder: Int32) -> Int32 {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        let descriptor = openat(folder, entry, flags)
        guard descriptor < 0, errno == EACCES else { return descriptor }
        allow(entry, of: folder)
        return openat(folder, entry, flags)
    }

    /// A worker can make folders that even its user may not read or change.
    private static func allow(_ entry: Name, of folder: Int32) {
        let descriptor = openat(folder, entry, pathOnly | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        // A descriptor of this kind has no other way to be changed by.
        chmod("/proc/self/fd/\(descriptor)", 0o700)
        close(descriptor)
    }

    /// `O_PATH`, which Glibc's module does not have. Source: asm-generic/fcntl.h.
    private static let pathOnly: Int32 = 0o10000000
}
