import AdapterKit
import Crypto
import JWTKit

/// The keys in use: one that signs, and those whose tokens are still accepted.
struct KeyRing: Sendable {
    /// A key, and JWTKit's view of it: a collection of this key alone, because a collection of several takes its default
    /// for a `kid` that it does not know.
    struct Member: Sendable {
        let key: SigningKey
        let publicKey: P256.Signing.PublicKey
        let algorithm: JWTKeyCollection

        init(_ key: SigningKey) async throws {
            let privateKey = try key.key()
            self.key = key
            publicKey = privateKey.publicKey
            algorithm = JWTKeyCollection()
            await algorithm.add(ecdsa: try ES256PrivateKey(backing: privateKey))
        }
    }

    let members: [Member]

    init(_ keys: [SigningKey]) async throws {
        var members: [Member] = []
        for key in keys { members.append(try await Member(key)) }
        self.members = members
    }

    /// The newest that has not been replaced.
    var signing: Member? {
        members.filter { $0.key.verifiesUntil == nil }.max { $0.key.created < $1.key.created }
    }

    func member(_ id: String, now: WireDate) -> Member? {
        members.first { $0.key.id.text == id && $0.key.verifiesUntil.map { now < $0 } ?? true }
    }

    /// The public keys as a JWK set (RFC 7517, section 5).
    func publicSet(now: WireDate) -> WireValue {
        let live = members.filter { member($0.key.id.text, now: now) != nil }
        return ["keys": .array(live.map(Self.publicKey))]
    }

    private static func publicKey(_ member: Member) -> WireValue {
        let point = Array(member.publicKey.rawRepresentation)
        return [
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": .string(member.key.id.text),
            "x": .string(Base64URL.encode(Array(point.prefix(32)))),
            "y": .string(Base64URL.encode(Array(point.suffix(32)))),
        ]
    }
}
