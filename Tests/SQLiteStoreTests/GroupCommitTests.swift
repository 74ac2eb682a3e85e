import AdapterKit
import GRDB
import RecordStorage
import Testing

@testable import SQLiteStore

/// Whether writes go on after what SQLite failed with.
@Suite struct GroupCommitTests {
    /// In memory; without the host's tables, so that the recovery of a disk fails until ``prepare()``.
    private let connection: DatabaseQueue
    private let commit: GroupCommit

    init() throws {
        connection = try DatabaseQueue()
        commit = GroupCommit(
            positions: LogPositions(last: 0, floor: 0, adapters: [:]), health: StoreHealth(), clock: FixedClock(),
            ids: RandomRecordIDs(), statistics: TableStatistics(), catalogue: { LayoutCatalogue() })
    }

    private func prepare() throws {
        _ = try connection.writeWithoutTransaction { database in
            try HostSchema.prepare(database) { Epoch("first") }
        }
    }

    private static let reason = PorticoError(.storeUnavailable, "It failed.")

    private func note(_ code: Int32) { commit.note(SQLiteFailure(code: code, message: "test"), Self.reason) }

    /// What a write is refused with.
    private var refusal: String? {
        connection.writeWithoutTransaction { commit.stillFailing(on: $0)?.message }
    }

    /// SQLITE_CORRUPT, one of its extended codes, and SQLITE_NOTADB.
    @Test(arguments: [11, 267, 26] as [Int32])
    func `nothing is written into a damaged file any more`(code: Int32) throws {
        try prepare()
        #expect(refusal == nil)
        note(code)
        for _ in 0..<2 { #expect(refusal == Self.reason.message) }
    }

    /// SQLITE_IOERR, and the extended code of a failed sync.
    @Test(arguments: [10, 1034] as [Int32])
    func `after the disk failed nothing is written until the file was made good`(code: Int32) throws {
        note(code)
        for _ in 0..<2 { #expect(refusal == Self.reason.message) }
        try prepare()
        for _ in 0..<2 { #expect(refusal == nil) }
    }

    /// SQLITE_BUSY, SQLITE_FULL and SQLITE_CONSTRAINT.
    @Test(arguments: [5, 13, 19] as [Int32])
    func `other failures concern their own write alone`(code: Int32) throws {
        note(code)
        #expect(refusal == nil)
        commit.note(Self.reason, Self.reason)
        #expect(refusal == nil)
    }
}
