import AdapterKit
import DurableFiles
import Foundation
import RecordStorage

/// A small file beside a store that names the store that was here, so that another one, an empty one or an older one is not
/// taken for it.
struct StoreMarker {
    enum Use: String {
        /// The caller that had the store open may have left writes in the log file.
        case open
        /// Everything is in the database file.
        case closed
    }

    struct Content: Equatable {
        let epoch: Epoch
        let use: Use
    }

    let path: String

    /// Nil where there is none, as beside stores of earlier versions. Throws `store.unavailable` where it cannot be read.
    func read() throws -> Content? {
        guard let data = FileManager.default.contents(atPath: path) else {
            if FileManager.default.fileExists(atPath: path) { throw Self.unreadable }
            return nil
        }
        let words = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count == 2, let use = Use(rawValue: String(words[1])) else { throw Self.unreadable }
        return Content(epoch: Epoch(String(words[0])), use: use)
    }

    func write(_ content: Content) throws {
        try DurableFiles.write(Array("\(content.epoch.text) \(content.use.rawValue)\n".utf8), to: path)
    }

    /// Durable.
    func remove() throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        do {
            try FileManager.default.removeItem(atPath: path)
            try DurableFiles.flush(URL(filePath: path).deletingLastPathComponent().path)
        } catch {
            throw PorticoError.ofFiles(error, "The store's marker cannot be removed.")
        }
    }

    private static let unreadable = PorticoError(.storeUnavailable, "The store's marker cannot be read.")
}

/// Whether the files that are found are the store that was here: looked at before anything is opened.
struct StoreFilesState {
    let path: String
    let marker: StoreMarker.Content?
    /// The other content of the data directory that shows that a store was used with it; nil: none.
    let companions: String?

    /// The reason why these files are not opened without a confirmation; nil: none.
    func doubt() -> PorticoError? {
        let log = path + "-wal"
        if isEmpty(path) {
            if marker != nil { return Self.doubt("The store's file is missing or empty, and a store was here") }
            if !isEmpty(log) { return Self.doubt("The store's file is missing or empty, and its log file is there") }
            return companions.map { Self.doubt("The store's file is missing or empty, and there are \($0)") }
        }
        if marker?.use == .open, !FileManager.default.fileExists(atPath: log) {
            return Self.doubt("The store's log file is missing, and with it the last writes")
        }
        return nil
    }

    /// The same for the store that was opened.
    func doubt(of epoch: Epoch) -> PorticoError? {
        guard let marker, marker.epoch != epoch else { return nil }
        return Self.doubt("The store is another one than was here")
    }

    /// Makes room for a new store: a log file that belongs to none would be lost.
    func setAside(as replaced: String) throws {
        guard isEmpty(path), !isEmpty(path + "-wal") else { return }
        try DurableFiles.move(path + "-wal", to: replaced + "-wal")
    }

    private func isEmpty(_ path: String) -> Bool {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return (attributes?[.size] as? Int ?? 0) == 0
    }

    private static func doubt(_ what: String) -> PorticoError {
        PorticoError(
            .storeUnavailable,
            "\(what). Put the right files back, or restore a backup; to go on with what is there, start once with "
                + "--accept-store.")
    }
}
