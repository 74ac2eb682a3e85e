import AdapterKit
import Foundation

/// The rows of a file that is read again when it changes.
///
/// It is a source of increments whose cursor is the file's state: where that is the same nothing is read, otherwise every
/// row is.
struct FileSource: Sendable {
    /// Larger files are refused: their rows stand in memory while they are read.
    static let maximumBytes = 64 << 20

    let path: String
    let mapping: RowMapping
    /// ``Connection/revision``.
    let revision: String

    /// The time that a file has to stay as it is before it is read.
    static let settling = Duration.seconds(1)

    /// A file that was changed just now is looked at a second time. Throws `upstream.failed` where it still changes.
    func page(_ request: MirrorRequest, at now: WireDate) async throws -> MirrorPage {
        let state = try FileState(path)
        let age = now.secondsSinceReferenceDate - state.modified.secondsSinceReferenceDate
        // A clock that is behind the file's proves nothing.
        if !(age >= Self.settling / .seconds(1)) {
            try await Task.sleep(for: Self.settling)
            guard try FileState(path) == state else {
                throw PorticoError(
                    .upstreamFailed, "The file is being changed.", logDetail: "the file is being written")
            }
        }
        let cursor = "\(revision) \(state.text)"
        if let since = request.since {
            guard since == cursor else { throw PorticoError(.fetchAgain, "The file has changed.") }
            return MirrorPage([], cursor: since)
        }
        let found = try mapping.rows(try document(state))
        return MirrorPage(found.rows, removed: found.removed, cursor: cursor)
    }

    /// Throws `upstream.failed` for a file that cannot be read or changes meanwhile.
    func document() throws -> WireValue { try document(try FileState(path)) }

    private func document(_ state: FileState) throws -> WireValue {
        guard state.size <= Self.maximumBytes else {
            throw MirrorRefusal(.unexpected, "the file has more than \(Self.maximumBytes) bytes")
        }
        guard let bytes = FileManager.default.contents(atPath: path) else { throw FileState.unreadable(path) }
        // A half that is being written is no state of the file.
        guard try FileState(path) == state, bytes.count == state.size else {
            throw PorticoError(
                .upstreamFailed, "The file is being changed.", logDetail: "the file changed while it was read")
        }
        guard !bytes.isEmpty else { throw MirrorRefusal(.malformed, "the file is empty") }
        return try mapping.read([UInt8](bytes))
    }
}

/// The attributes that tell two states of a file apart.
struct FileState: Equatable {
    let size: Int
    let text: String
    let modified: WireDate

    /// Throws `upstream.failed` for what is no readable file.
    init(_ path: String) throws(PorticoError) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw Self.unreadable(path) }
        size = Int(status.st_size)
        // The epoch is changed in whole seconds.
        modified = WireDate(secondsSince1970: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
        text = "\(status.st_ino) \(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
    }

    static func unreadable(_ path: String) -> PorticoError {
        PorticoError(.upstreamFailed, "The file cannot be read.", logDetail: "\(path) cannot be read")
    }
}
