import AdapterKit
import Crypto
import Foundation
import Synchronization

/// What is kept while a browser is at a provider's page.
struct PendingSignIn: Codable, Sendable {
    let provider: String
    let state: String
    let nonce: String
    let verifier: String
    /// A path of this gateway.
    let returnPath: String
    /// Seconds since 1970.
    let ends: Double
}

/// Keeps pending sign-ins in the browser itself, sealed (AES-GCM) under a key that this process drew: no table that
/// strangers could fill, and nobody can finish a sign-in that another browser began. What was used is remembered.
final class PendingSignIns: Sendable {
    private let key: SymmetricKey
    private let used = Mutex(UsedSignIns())

    init(_ randomness: any Randomness) {
        key = SymmetricKey(data: randomness.bytes(32))
    }

    func seal(_ pending: PendingSignIn) throws -> Secret {
        let box = try AES.GCM.seal(try JSONEncoder().encode(pending), using: key)
        guard let bytes = box.combined else { throw PorticoError(.serverInternal, "The sign-in could not begin.") }
        return Secret(Base64URL.encode(Array(bytes)))
    }

    /// Whether this is the first time. To be asked once everything else about the answer is right.
    func use(_ pending: PendingSignIn, from address: ClientAddress, now: WireDate) -> Bool {
        used.withLock {
            $0.use(pending.state, from: address, until: WireDate(secondsSince1970: pending.ends), now: now)
        }
    }

    /// Nil for what this process did not seal.
    func open(_ cookie: Secret) -> PendingSignIn? {
        guard cookie.reveal().utf8.count <= 4096, let bytes = Base64URL.decode(cookie.reveal()),
            let box = try? AES.GCM.SealedBox(combined: bytes), let plain = try? AES.GCM.open(box, using: key)
        else { return nil }
        return try? JSONDecoder().decode(PendingSignIn.self, from: plain)
    }
}
