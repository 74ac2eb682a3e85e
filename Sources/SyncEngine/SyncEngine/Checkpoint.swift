import AdapterKit
import RecordStorage
import SyncMessages

/// The place that a device has reached: the content of a token, which is for the gateway alone.
///
/// It carries each scope's count and checksum, so that keeping them costs a pull no more than the changes it sends.
struct Checkpoint: Sendable, Equatable {
    var epoch: Epoch
    /// The principal's id: no caller goes on from another caller's checkpoint.
    var identity: String
    /// Everything up to this operation id has been sent, of what ``ScopeProgress/walk`` has passed.
    var position: Revision
    /// Whether the device named its collections; otherwise new ones are added as they appear.
    var isNarrowed: Bool
    /// In the order of their names.
    var scopes: [ScopeProgress]
}

/// One scope as a device has it.
struct ScopeProgress: Sendable, Equatable {
    var name: String
    /// ``SyncScope/fingerprint`` when it was begun.
    var fingerprint: UInt64
    var checksum: ScopeChecksum
    var walk: Walk

    /// The place up to which the rows themselves have been sent, in the order of their keys.
    enum Walk: Sendable, Equatable {
        case before
        /// Everything up to and with this key.
        case through(WireValue)
        case done
    }

    /// Nothing of it has been sent.
    init(begin scope: SyncScope) {
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

    /// Whether the row with this key has been sent already, so that its changes are changes.
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

/// A checkpoint as few bytes: numbers by LEB128, texts after their length.
enum CheckpointCoder {
    private static let version: UInt8 = 1

    static func bytes(of checkpoint: Checkpoint) -> [UInt8] {
        var bytes = CheckpointWriter()
        bytes.append(version)
        bytes.add(checkpoint.epoch.text)
        bytes.add(checkpoint.identity)
        bytes.add(UInt64(bitPattern: checkpoint.position.number))
        bytes.append(checkpoint.isNarrowed ? 1 : 0)
        bytes.add(UInt64(checkpoint.scopes.count))
        for scope in checkpoint.scopes { add(scope, to: &bytes) }
        return bytes.all
    }

    static func checkpoint(of bytes: [UInt8]) -> Checkpoint? {
        var source = CheckpointReader(bytes)
        guard source.byte() == version, let epoch = source.text(), let identity = source.text(),
            let position = source.number(), let flag = source.byte(), let count = source.number(), count < 10_000
        else { return nil }
        var scopes: [ScopeProgress] = []
        for _ in 0..<count {
            guard let scope = scope(&source) else { return nil }
            scopes.append(scope)
        }
        guard source.isAtEnd else { return nil }
        return Checkpoint(
            epoch: Epoch(epoch), identity: identity, position: Revision(Int64(bitPattern: position)),
            isNarrowed: flag == 1, scopes: scopes)
    }

    private static func add(_ scope: ScopeProgress, to bytes: inout CheckpointWriter) {
        bytes.add(scope.name)
        bytes.add(scope.fingerprint)
        bytes.add(UInt64(bitPattern: Int64(scope.checksum.count)))
        bytes.add(scope.checksum.sum)
        switch scope.walk {
        case .done: bytes.append(0)
        case .before: bytes.append(1)
        case .through(.int64(let key)):
            bytes.append(2)
            bytes.add(UInt64(bitPattern: key))
        case .through(let key):
            bytes.append(3)
            bytes.add(key.stringValue ?? "")
        }
    }

    private static func scope(_ source: inout CheckpointReader) -> ScopeProgress? {
        guard let name = source.text(), let fingerprint = source.number(), let count = source.number(),
            let sum = source.number(), let walk = walk(&source)
        else { return nil }
        return ScopeProgress(
            name: name, fingerprint: fingerprint,
            checksum: ScopeChecksum(count: Int(Int64(bitPattern: count)), sum: sum), walk: walk)
    }

    private static func walk(_ source: inout CheckpointReader) -> ScopeProgress.Walk? {
        switch source.byte() {
        case 0: .done
        case 1: .before
        case 2: source.number().map { .through(.int64(Int64(bitPattern: $0))) }
        case 3: source.text().map { .through(.string($0)) }
        default: nil
        }
    }
}

private struct CheckpointWriter {
    private(set) var all: [UInt8] = []

    mutating func append(_ byte: UInt8) { all.append(byte) }

    mutating func add(_ text: String) {
        add(UInt64(text.utf8.count))
        all += text.utf8
    }

    mutating func add(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            all.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        all.append(UInt8(truncatingIfNeeded: rest))
    }
}

private struct CheckpointReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8? { rest.popFirst() }

    mutating func number() -> UInt64? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            guard let byte = byte() else { return nil }
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
        }
        return nil
    }

    mutating func text() -> String? {
        guard let count = number(), count <= UInt64(rest.count) else { return nil }
        defer { rest = rest.dropFirst(Int(count)) }
        return String(validating: rest.prefix(Int(count)), as: UTF8.self)
    }
}

/// Makes tokens that no other caller can make: the engine has no cryptography of its own.
public protocol CheckpointSeal: Sendable {
    /// An authentication code of the bytes under the server's secret (HMAC), at least 16 bytes, always as long.
    func code(for bytes: [UInt8]) -> [UInt8]

    /// Compared in constant time.
    func isCode(_ code: [UInt8], for bytes: [UInt8]) -> Bool
}

/// Checkpoints as opaque texts of URL-safe characters.
struct CheckpointTokens: Sendable {
    let seal: any CheckpointSeal
    let epoch: Epoch

    /// Longer ones are not ours.
    static let maximumLength = 6_144
    private static let codeLength = 16

    func token(of checkpoint: Checkpoint) -> String {
        var bytes = CheckpointCoder.bytes(of: checkpoint)
        bytes += seal.code(for: bytes).prefix(Self.codeLength)
        return Base64URL.encode(bytes)
    }

    /// Throws `sync.fetchAgain` for a token that is not ours, of another identity, or of another epoch.
    func checkpoint(of token: String, for principal: Principal) throws(PorticoError) -> Checkpoint {
        guard let found = read(token), found.epoch == epoch, found.identity.hasSameBytes(as: principal.id) else {
            throw .fetchAgain("The checkpoint is not known.")
        }
        return found
    }

    /// Whether it is a token of this store's present history, the caller that has it.
    func isOfThisEpoch(_ token: String) -> Bool { read(token)?.epoch == epoch }

    private func read(_ token: String) -> Checkpoint? {
        guard token.utf8.count <= Self.maximumLength, let sealed = Base64URL.decode(token),
            sealed.count > Self.codeLength
        else { return nil }
        let bytes = Array(sealed.dropLast(Self.codeLength))
        guard seal.isCode(Array(sealed.suffix(Self.codeLength)), for: bytes) else { return nil }
        return CheckpointCoder.checkpoint(of: bytes)
    }
}

extension PorticoError {
    static func fetchAgain(_ message: String) -> PorticoError {
        PorticoError(.fetchAgain, "\(message) Fetch everything again.", target: "checkpoint")
    }
}
