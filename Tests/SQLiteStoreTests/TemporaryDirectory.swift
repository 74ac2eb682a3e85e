import AdapterKit
import Admission
import Foundation
import SQLiteStore

/// A directory for one test's store, removed with it.
final class TemporaryDirectory: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "store-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    var path: String { url.appending(path: "store.sqlite").path }

    func store(maximumPages: Int? = nil, queue: CommitQueueLimits = CommitQueueLimits()) throws -> SQLiteStore {
        try SQLiteStore(
            SQLiteStoreSettings(path: path, maximumPages: maximumPages, queue: queue, clock: FixedClock()))
    }
}

/// Always noon.
struct FixedClock: WallClock {
    func now() -> WireDate { WireDate(secondsSinceReferenceDate: 12 * 3600) }
}
