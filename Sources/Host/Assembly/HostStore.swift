import AttachmentFiles
import Foundation
import RecordStorage
import SQLiteStore

/// A host's store as it is opened: all that this module knows of the kind of store that is configured.
struct HostStore: Sendable {
    let store: any HostedStore
    /// The same for backups, which follow its pages.
    let pages: any PageLoggedStore
    /// Where the store lies that a restored backup has replaced at this start; nil: none did.
    let replaced: String?
    private let restore: StoreRestore

    /// Opens the configured store, or makes it, once a restored backup has taken its place. `acceptsStore`: although it is
    /// not the store that was here.
    init(_ settings: HostSettings, acceptsStore: Bool) throws {
        let restore = StoreRestore(path: settings.storePath.path)
        let isRestored = restore.isPrepared
        let store = try SQLiteStore(Self.fileSettings(settings, acceptsStore: acceptsStore))
        (self.store, pages, self.restore) = (store, store, restore)
        replaced = isRestored ? restore.replaced : nil
    }

    /// Whether a backup waits to take the store's place at the next start.
    var isRestorePending: Bool { restore.isPrepared }

    /// Opens an empty store in a folder that is thrown away.
    static func empty(in folder: URL) throws -> any HostedStore {
        try SQLiteStore(SQLiteStoreSettings(path: folder.appending(path: "store.sqlite").path, clock: SystemClock()))
    }

    private static func fileSettings(_ settings: HostSettings, acceptsStore: Bool) -> SQLiteStoreSettings {
        let attachments = settings.attachmentFolder
        var store = SQLiteStoreSettings(
            path: settings.storePath.path, longReads: settings.storeLongReads,
            longReadTurn: settings.storeLongReadTurn, streams: settings.storeStreams, clock: SystemClock())
        // In the data directory even where the store is elsewhere: on a disk that may not be mounted.
        store.markerPath = settings.dataDirectory.appendingPathComponent("store.marker").path
        store.companions = AttachmentFiles.areKept(in: attachments) ? "attachments in the data directory" : nil
        store.acceptsFiles = acceptsStore
        return store
    }
}
