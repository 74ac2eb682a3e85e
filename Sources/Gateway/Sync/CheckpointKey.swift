import AdapterKit
import Crypto
import RecordStorage
import SyncEngine

/// HMAC-SHA256 (RFC 2104) under a secret that the store keeps: checkpoints survive a restart, and a copy of the store
/// knows its own.
struct CheckpointKey: CheckpointSeal {
    private let key: SymmetricKey

    private static let adapter: AdapterName = "sync"
    private static let id: RecordID = "checkpoints"
    private static let entity = Entity(
        "keys", summary: "Secrets of the sync protocol.", key: EntityKey("id", chosenBy: .caller),
        fields: [
            Field("id", .string(maximumLength: 64), isRequired: true),
            Field("bytes", .data(maximumBytes: 64), isRequired: true),
        ], rows: RowRules(read: .nobody, write: .nobody), writers: .roles([]), conflictPolicy: .reject,
        exposure: .adapterOnly)

    static let collections = [CollectionDeclaration(adapter: adapter, entity: entity)]

    /// Makes the key where there is none. Two processes cannot: one has the store.
    static func load(from store: any Store) async throws -> CheckpointKey {
        let collection = CollectionID(adapter, entity.name)
        if let bytes = try await store.record(id, in: collection, visible: nil)?["bytes"].dataValue {
            return CheckpointKey(key: SymmetricKey(data: bytes))
        }
        let key = SymmetricKey(size: .bits256)
        let bytes = key.withUnsafeBytes { Array($0) }
        let step = WriteTransaction.Step(
            adapter: adapter, change: RecordChange(entity.name, .create(id, ["bytes": .data(bytes)])))
        _ = try await store.write(WriteTransaction([step], author: "system"))
        return CheckpointKey(key: key)
    }

    func code(for bytes: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: bytes, using: key).prefix(Self.codeLength))
    }

    /// The whole of a truncated code is compared, in constant time.
    func isCode(_ code: [UInt8], for bytes: [UInt8]) -> Bool {
        let expected = self.code(for: bytes)
        guard code.count == expected.count else { return false }
        return zip(code, expected).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// RFC 2104, section 5: half of the digest at least.
    private static let codeLength = 16
}
