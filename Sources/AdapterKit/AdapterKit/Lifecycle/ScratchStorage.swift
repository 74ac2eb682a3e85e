/// Files for what an adapter makes and keeps for a while. None outlives the process.
public protocol ScratchStorage: Sendable {
    /// An empty file that no other user of the machine can read. Throws `store.full` and `store.unavailable`.
    func create() throws -> any ScratchFile
}

/// One file of a ``ScratchStorage``. It is removed when the last reference to it goes.
public protocol ScratchFile: AnyObject, Sendable {
    /// One caller at a time. Throws `store.full` and `store.unavailable`.
    func append(_ bytes: [UInt8]) throws

    /// What was appended, piece by piece. The pieces stay readable after the file is removed.
    func pieces() throws -> any MountResponseBody
}

/// For hosts that give adapters no files.
public struct NoScratchStorage: ScratchStorage {
    public init() {}

    public func create() throws -> any ScratchFile {
        throw PorticoError(.adapterUnavailable, "This host gives adapters no files.")
    }
}
