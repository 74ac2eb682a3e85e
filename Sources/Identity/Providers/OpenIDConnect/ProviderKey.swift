import AdapterKit
import JWTKit

/// One public key of a provider, fit for verifying signatures (RFC 7517; RFC 7518, section 6).
struct ProviderKey: Sendable {
    let id: String?
    /// The key's own where it names one, otherwise those of its kind.
    private let algorithms: Set<OpenIDConnectSettings.Algorithm>
    private let members: ClaimValue

    /// Nil for keys of other kinds, for encryption, and for RSA keys that are too short.
    init?(_ members: ClaimValue) {
        guard members["use"] == nil || members["use"]?.text == "sig", let kinds = Self.algorithms(of: members) else {
            return nil
        }
        id = members["kid"]?.text
        algorithms = members["alg"] == nil ? kinds : kinds.filter { $0.rawValue == members["alg"]?.text }
        self.members = members
        guard !algorithms.isEmpty else { return nil }
    }

    func fits(_ id: String?, _ algorithm: OpenIDConnectSettings.Algorithm) -> Bool {
        (id == nil || id == self.id) && algorithms.contains(algorithm)
    }

    /// JWTKit's view of it: a collection of this key for this algorithm alone, so that nothing in a token can choose.
    func verifier(_ algorithm: OpenIDConnectSettings.Algorithm) async throws -> JWTKeyCollection {
        let collection = JWTKeyCollection()
        switch algorithm {
        case .rs256: await collection.add(rsa: try rsa(), digestAlgorithm: .sha256)
        case .ps256: await collection.add(pss: try rsa(), digestAlgorithm: .sha256)
        case .es256: await collection.add(ecdsa: try ES256PublicKey(parameters: try point()))
        case .es384: await collection.add(ecdsa: try ES384PublicKey(parameters: try point()))
        }
        return collection
    }

    private func rsa() throws -> Insecure.RSA.PublicKey {
        try Insecure.RSA.PublicKey(modulus: try text("n"), exponent: try text("e"))
    }

    private func point() throws -> ECDSAParameters {
        ECDSAParameters(x: try text("x"), y: try text("y"))
    }

    private func text(_ name: String) throws(TokenRefusal) -> String {
        guard let text = members[name]?.text, text.utf8.count <= 2048 else { throw .keyUnknown }
        return text
    }

    private static let minimumModulus = 256  // bytes: 2048 bits

    private static func algorithms(of members: ClaimValue) -> Set<OpenIDConnectSettings.Algorithm>? {
        switch (members["kty"]?.text, members["crv"]?.text) {
        case ("EC", "P-256"): return [.es256]
        case ("EC", "P-384"): return [.es384]
        case ("RSA", nil):
            let modulus = members["n"]?.text.flatMap { Base64URL.decode($0) }?.drop { $0 == 0 } ?? []
            return modulus.count >= minimumModulus ? [.rs256, .ps256] : nil
        default: return nil
        }
    }
}
