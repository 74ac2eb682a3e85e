import AdapterKit
import RecordStorage
import SyncMessages

/// How far a device is: what a token says to us and nobody else.
///
/// It carries each scope's count and checksum, so that keeping them costs a pull no more than the changes it tells of.
struct Checkpoint: Sendable, Equatable {
    var epoch: Epoch
    /// The principal's id: nobody goes on from somebody else's checkpoint.
    var identity: String
    /// Everything up to this operation id has been told, of what ``ScopeState/walk`` has passed.
    var position: Revision
    /// Whether the device named its collections; otherwise new ones are added as they appear.
    var isNarrowed: Bool
    /// In the order of their names.
    var scopes: [ScopeState]
}

/// One scope as a device has it.
struct ScopeState: Sendable, Equatable {
    var name: String
    /// ``Scope/fingerprint`` when it was begun.
    var fingerprint: UInt64
    var checksum: ScopeChecksum
    var walk: Walk

    /// How far the rows themselves have been sent, in the order of their keys.
    enum Walk: Sendable, Equatable {
        case before
        /// Everything up to and with this key.
        case through(WireValue)
        case done
    }

    /// Nothing of it has been sent.
    init(begin scope: Scope) {
        name = scope.name
        fingerprint = scope.fingerprint
        checksum = ScopeChecksum()
        walk = .before
    }

    init(name: String, fingerprint: UInt64, checksum: ScopeChecksum, walk: Walk) {
        self.name = name
        self.fingerprint = fingerprint
        self.checksum = checksum
        self.walk = walk
    }

    /// Whether the row with this key has been sent already, so that its changes are news.
    func covers(_ key: WireValue) -> Bool {
        switch walk {
        case .before: false
        case .done: true
        case .through(let last): !last.precedes(key)
        }
    }
}

extension WireValue {
    /// The order of keys in a store: integers as numbers, texts by bytes.
    fileprivate func precedes(_ other: WireValue) -> Bool {
        switch (self, other) {
        case (.int64(let left), .int64(let right)): left < right
        case (.string(let left), .string(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
        default: false
        }
    }
}
