import Dispatch
import Foundation
import SyncDevice
import SyncMessages
import Synchronization

/// The columns of many rows, made side by side on the device's cores: writing CBOR, and sealing, take about as long as
/// SQLite takes for the rows.
struct EncodedRows {
    /// Rows that are encoded before they are written, so that no more than these lie in memory twice.
    static let atOnce = 4096
    /// Fewer are not worth another thread.
    private static let leastForAThread = 256
    private static let cores = ProcessInfo.processInfo.activeProcessorCount

    private let coding: RowCoding

    init(_ coding: RowCoding) {
        self.coding = coding
    }

    /// In the order of the changes; nil where the record goes.
    func columns(_ changes: ArraySlice<RecordChanges.Change>) throws -> [RowCoding.Columns?] {
        let length = max(Self.leastForAThread, (changes.count - 1) / Self.cores + 1)
        let starts = Array(stride(from: changes.startIndex, to: changes.endIndex, by: length))
        let parts = Mutex<[Int: Result<[RowCoding.Columns?], any Error>]>([:])
        DispatchQueue.concurrentPerform(iterations: starts.count) { number in
            let part = changes[starts[number]..<min(starts[number] + length, changes.endIndex)]
            let made = Result {
                try part.map { change in try change.copy.map { try coding.columns($0.content, of: change.key) } }
            }
            parts.withLock { $0[number] = made }
        }
        return try parts.withLock { parts in try starts.indices.flatMap { try parts[$0]?.get() ?? [] } }
    }
}
