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
    let ends: UnixTime
}

/// Keeps pending sign-ins in the browser itself, sealed (AES-GCM) under a key that this process drew: no table that
/// strangers could fill, and no browser can finish a sign-in that another one began. What was used is remembered.
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
        used.withLock { $0.use(pending.state, from: address, until: pending.ends, now: UnixTime(now)) }
    }

    /// Nil for what this process did not seal.
    func open(_ cookie: Secret) -> PendingSignIn? {
        guard cookie.reveal().utf8.count <= 4096, let bytes = Base64URL.decode(cookie.reveal()),
            let box = try? AES.GCM.SealedBox(combined: bytes), let plain = try? AES.GCM.open(box, using: key)
        else { return nil }
        return try? JSONDecoder().decode(PendingSignIn.self, from: plain)
    }
}

/// The pending sign-ins that came back from their provider already: each is good for one answer, whatever the provider
/// makes of a second one. A state machine without effects.
package struct UsedSignIns: Sendable {
    private struct Use {
        let address: ClientAddress
        let ends: UnixTime
        let number: UInt64
    }

    let capacity: Int
    private var uses: [String: Use] = [:]
    private var lastNumber: UInt64 = 0

    package init(capacity: Int = 65_536) {
        self.capacity = capacity
    }

    package var count: Int { uses.count }

    /// Whether this is the first use of the sign-in, which ends by itself at `ends`.
    package mutating func use(_ id: String, from address: ClientAddress, until ends: UnixTime, now: UnixTime) -> Bool {
        guard uses[id] == nil else { return false }
        if uses.count >= capacity { makeRoom(now: now) }
        lastNumber += 1
        uses[id] = Use(address: address, ends: ends, number: lastNumber)
        return true
    }

    /// What has ended goes; if that is not enough, the oldest of the address that has the most: so an address that
    /// fills the memory could at best repeat its own.
    private mutating func makeRoom(now: UnixTime) {
        uses = uses.filter { now < $0.value.ends }
        guard uses.count >= capacity else { return }
        let heaviest = Dictionary(grouping: uses) { $0.value.address }.max { $0.value.count < $1.value.count }
        let oldest = (heaviest?.value ?? []).sorted { $0.value.number < $1.value.number }
        for (id, _) in oldest.prefix(max(1, oldest.count / 10)) { uses[id] = nil }
    }
}
