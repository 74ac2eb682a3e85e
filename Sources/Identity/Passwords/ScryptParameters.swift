/// The cost of one password hash (RFC 7914, section 2). Memory is `128 × blockSize × 2^logRounds` bytes.
public struct ScryptParameters: Sendable, Equatable {
    public let logRounds: Int
    public let blockSize: Int
    public let parallelism: Int

    /// Nil outside of what may be stored: a hash brought in from elsewhere must not cost more than
    /// ``maximumMemory``, and not less than any setting that was ever sufficient.
    public init?(logRounds: Int, blockSize: Int, parallelism: Int) {
        guard (Self.leastLogRounds...20).contains(logRounds), (1...32).contains(blockSize),
            (1...16).contains(parallelism), 128 * blockSize << logRounds <= Self.maximumMemory
        else { return nil }
        self.init(unchecked: logRounds, blockSize, parallelism)
    }

    private init(unchecked logRounds: Int, _ blockSize: Int, _ parallelism: Int) {
        self.logRounds = logRounds
        self.blockSize = blockSize
        self.parallelism = parallelism
    }

    /// In bytes.
    public static let maximumMemory = 256 << 20

    /// Of what may be stored.
    public static let leastLogRounds = 10

    /// 32 MiB, and as hard to attack as 2^17/8/1 by OWASP's table. docs/decisions/0051.
    public static let recommended = ScryptParameters(unchecked: 15, 8, 3)

    /// Nil where that may not be stored.
    public func with(logRounds: Int) -> ScryptParameters? {
        ScryptParameters(logRounds: logRounds, blockSize: blockSize, parallelism: parallelism)
    }
}
