import AdapterKit
import RecordStorage
import SyncMessages

/// A checkpoint as few bytes: numbers by LEB128, texts after their length.
enum CheckpointCoder {
    private static let version: UInt8 = 1

    static func bytes(of checkpoint: Checkpoint) -> [UInt8] {
        var bytes = Bytes()
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
        var source = ByteSource(bytes)
        guard source.byte() == version, let epoch = source.text(), let identity = source.text(),
            let position = source.number(), let flag = source.byte(), let count = source.number(), count < 10_000
        else { return nil }
        var scopes: [ScopeState] = []
        for _ in 0..<count {
            guard let scope = scope(&source) else { return nil }
            scopes.append(scope)
        }
        guard source.isAtEnd else { return nil }
        return Checkpoint(
            epoch: Epoch(epoch), identity: identity, position: Revision(Int64(bitPattern: position)),
            isNarrowed: flag == 1, scopes: scopes)
    }

    private static func add(_ scope: ScopeState, to bytes: inout Bytes) {
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

    private static func scope(_ source: inout ByteSource) -> ScopeState? {
        guard let name = source.text(), let fingerprint = source.number(), let count = source.number(),
            let sum = source.number(), let walk = walk(&source)
        else { return nil }
        return ScopeState(
            name: name, fingerprint: fingerprint,
            checksum: ScopeChecksum(count: Int(Int64(bitPattern: count)), sum: sum), walk: walk)
    }

    private static func walk(_ source: inout ByteSource) -> ScopeState.Walk? {
        switch source.byte() {
        case 0: .done
        case 1: .before
        case 2: source.number().map { .through(.int64(Int64(bitPattern: $0))) }
        case 3: source.text().map { .through(.string($0)) }
        default: nil
        }
    }
}

private struct Bytes {
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

private struct ByteSource {
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
