/// What a reader may spend on one document. Every limit is checked before the memory it guards is taken.
public struct ReadingLimits: Sendable, Equatable {
    /// The deepest nesting of containers, at most ``maximumDepth``.
    public var depth: Int {
        didSet { depth = min(depth, Self.maximumDepth) }
    }
    /// How many tokens a tape has at most: a value is one, a key one, a container one more for its end. A value that a
    /// binary property list shares counts each time it is reached.
    public var values: Int
    /// The bytes of all strings, keys and data together, shared ones counted each time.
    public var expandedBytes: Int
    public var duplicateKeys: DuplicateKeyPolicy

    /// Trees are walked by recursion, which needs the stack: no limit may be set above this one.
    public static let maximumDepth = 4096

    public init(
        depth: Int = 512, values: Int = 4_000_000, expandedBytes: Int = 64 << 20,
        duplicateKeys: DuplicateKeyPolicy = .refuse
    ) {
        self.depth = min(depth, Self.maximumDepth)
        self.values = values
        self.expandedBytes = expandedBytes
        self.duplicateKeys = duplicateKeys
    }
}

/// What a reader does when a dictionary names a key twice.
public enum DuplicateKeyPolicy: Sendable, Equatable {
    case refuse
    /// The last value wins, at the first one's place; the reader counts what it dropped.
    case keepLast
}
