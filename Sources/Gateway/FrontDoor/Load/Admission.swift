import AdapterKit
import HTTPTypes
import NIOCore
import Synchronization

/// That one caller or one slow adapter does not take what all others need: how often each may ask, and how much of what
/// is under way may be its own.
final class Admission: Sendable {
    /// Callers that are told apart at once.
    static let capacity = 100_000

    private let callers: RateCounter?
    private let addresses: RateCounter?
    private let shares: Mutex<Shares>

    init(_ limits: GatewayLimits) {
        callers = Self.table(limits.requestsPerMinute)
        addresses = Self.table(limits.addressRequestsPerMinute)
        shares = Mutex(Shares(perCaller: limits.inFlightPerCaller, perAdapter: limits.inFlightPerAdapter))
    }

    private static func table(_ limit: Int) -> RateCounter? {
        limit > 0 ? RateCounter(RateTable(limit: limit, capacity: capacity)) : nil
    }

    /// Before anything is known of the caller. Throws `access.rateLimited`.
    func countAddress(of request: GatewayRequest) throws(PorticoError) {
        guard let addresses, !RequestPlaces.isAlwaysAnswered(request.target.path) else { return }
        let standing = addresses.count(AddressRange.network(of: request.peer))
        guard standing.isExceeded else { return }
        throw .tooMany(standing)
    }

    /// Nil where callers are not counted.
    func count(_ caller: Caller, of request: GatewayRequest) -> RateStanding? {
        guard let callers, !RequestPlaces.isAlwaysAnswered(request.target.path) else { return nil }
        return callers.count(Self.key(caller, request))
    }

    /// Throws `server.overloaded` where the caller or the adapter has its share under way already.
    func take(_ caller: Caller, of request: GatewayRequest, _ adapter: AdapterName?) throws(PorticoError) -> Shares
        .Place?
    {
        guard let adapter else { return nil }
        let place = Shares.Place(caller: Self.key(caller, request), adapter: adapter.text)
        let isTaken = shares.withLock { $0.take(place) }
        guard isTaken else {
            throw PorticoError(.overloaded, "Too many requests of this kind are under way.", retryAfter: 1)
        }
        return place
    }

    func leave(_ place: Shares.Place?) {
        guard let place else { return }
        shares.withLock { $0.leave(place) }
    }

    private static func key(_ caller: Caller, _ request: GatewayRequest) -> String {
        caller.principal.isAnonymous ? AddressRange.network(of: request.peer) : caller.principal.name
    }
}

/// A table across threads.
private final class RateCounter: Sendable {
    private let table: Mutex<RateTable>

    init(_ table: RateTable) {
        self.table = Mutex(table)
    }

    func count(_ key: String) -> RateStanding {
        let now = Int64(NIODeadline.now().uptimeNanoseconds)
        return table.withLock { $0.count(key, now: now) }
    }
}

extension PorticoError {
    static func tooMany(_ standing: RateStanding) -> PorticoError {
        PorticoError(.rateLimited, "That is too many requests in a minute.", retryAfter: max(1, standing.wait))
    }
}

extension HTTPField.Name {
    static let rateLimit = HTTPField.Name("RateLimit")!
    static let rateLimitPolicy = HTTPField.Name("RateLimit-Policy")!
}
