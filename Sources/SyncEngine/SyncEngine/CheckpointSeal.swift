import AdapterKit
import RecordStorage

/// Makes tokens that nobody else can make: the engine has no cryptography of its own.
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

    /// Whether it is a token of this store's present history, whoever has it.
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
