import AdapterKit

/// Writes a batch's answers one after the other, in one of its formats.
protocol BatchWriter: Sendable {
    var headers: MountHeaders { get }

    /// What stands before the first answer.
    mutating func beginning() -> [UInt8]
    /// Answers whose bodies are at hand.
    mutating func whole(_ outcome: BatchOutcome) -> [UInt8]
    /// What stands before a body that follows in pieces as it is; nil where the format has to have it whole.
    mutating func opening(_ reply: BatchReply) -> [UInt8]?
    /// What stands behind such a body.
    mutating func closing() -> [UInt8]
    mutating func ending() -> [UInt8]
}
