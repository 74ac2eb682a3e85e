import Foundation
import ReplicaStorage

/// The age of records whose truth is in another system than the gateway.
public struct RecordAge: Sendable, Equatable {
    /// When the other system had them.
    public let asOf: Date
    /// Whether they are older than they should be: of an answer, that the other system could not be asked; in a replica,
    /// that they are older than was asked (``Replica/age(of:freshFor:)``).
    public let isStale: Bool
}

extension TransportResponse {
    /// The age of an answer's records (`Age` and `Cache-Status`, RFC 9111 and RFC 9211); nil: the gateway has their
    /// truth. By this device's clock. A number that is too large is the largest (RFC 9111, section 1.2.2).
    public var age: RecordAge? {
        guard let text = header("age"), !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let status = header("cache-status"),
            status.hasPrefix("portico;")
        else { return nil }
        return RecordAge(
            asOf: Date(timeIntervalSinceNow: -Double(UInt32(text) ?? UInt32(Int32.max))),
            isStale: status.contains("fwd=stale") && !status.contains("stored"))
    }
}

extension ReplicaDatabase {
    func asOf(_ collection: String) async throws -> Double? {
        try await read { try self.asOf(collection, $0) }
    }
}
