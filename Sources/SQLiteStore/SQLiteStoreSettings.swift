import AdapterKit
import Foundation
import RecordStorage

/// What a store is opened with.
public struct SQLiteStoreSettings: Sendable {
    /// The database file; its directory must be there. Three files lie beside it while it is open: `-wal`, `-shm` and
    /// `.lock`.
    public let path: String
    /// How many connections read. A read holds one for its duration, on its caller's thread.
    public let readers: Int
    /// How many reads that turn out to take long may go on at once, with a connection and a thread each; at least two,
    /// so that one caller never has all of them.
    public let longReads: Int
    /// How long one of them goes on while another caller waits who has none; then it throws `server.overloaded`.
    public let longReadTurn: Duration
    /// How many reads may go on at once while somebody takes what they find, with a connection and a thread each.
    public let streams: Int
    /// The file's largest size, in pages of 4 KiB; nil: what the disk holds. Beyond it writes throw `store.full`.
    public let maximumPages: Int?
    public let integrity: IntegrityCheck
    /// The marker that tells which store was here; nil: beside the database file.
    public var markerPath: String?
    /// What else the data directory holds that a store was used with, such as attachments: beside it no empty store is
    /// made without ``acceptsFiles``. Nil: nothing.
    public var companions: String?
    /// Whether the files are opened although they are not the store that was here: an empty one, another one, or one
    /// without its log file. It gets a new epoch, so that devices start over.
    public var acceptsFiles = false
    /// What the test for lost writes turns off, to show that it finds them.
    package var survivesPowerFailure = true
    /// Instructions of SQLite's virtual machine, some milliseconds of them, after which a read is broken off and begun
    /// again where it holds up nobody.
    package var quickSteps: Int32 = 250_000
    let queue: CommitQueueLimits
    let clock: any WallClock
    let ids: any RecordIDSource

    public init(
        path: String, readers: Int = max(2, ProcessInfo.processInfo.activeProcessorCount + 1), longReads: Int = 2,
        longReadTurn: Duration = .seconds(10), streams: Int = 8,
        maximumPages: Int? = nil,
        integrity: IntegrityCheck = .whereLeftOpen, queue: CommitQueueLimits = CommitQueueLimits(),
        clock: any WallClock,
        ids: any RecordIDSource = RandomRecordIDs()
    ) {
        self.path = path
        self.readers = readers
        self.longReads = max(2, longReads)
        self.longReadTurn = longReadTurn
        self.streams = streams
        self.maximumPages = maximumPages
        self.integrity = integrity
        self.queue = queue
        self.clock = clock
        self.ids = ids
    }
}

/// When the whole file is read and checked before it is used.
public enum IntegrityCheck: Sendable, Equatable {
    /// Where the process that had it open last did not close it.
    case whereLeftOpen
    /// Each time: after a restore from a backup.
    case always
}
