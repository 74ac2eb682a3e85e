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
    private let routes: [(rate: RouteRate, counter: RateCounter)]
    private let shares: FairShareQueue

    init(_ limits: GatewayLimits) {
        callers = Self.table(limits.requestsPerMinute)
        addresses = Self.table(limits.addressRequestsPerMinute)
        routes = limits.routes.map { rate in
            (rate, RateCounter(RateTable(limit: rate.requestsPerMinute, capacity: Self.capacity)))
        }
        shares = FairShareQueue(
            FairShares(
                perCaller: limits.inFlightPerCaller, perAdapter: limits.inFlightPerAdapter,
                queuePerCaller: limits.queuePerCaller, queuePerAdapter: limits.queuePerAdapter))
    }

    private static func table(_ limit: Int) -> RateCounter? {
        limit > 0 ? RateCounter(RateTable(limit: limit, capacity: capacity)) : nil
    }

    /// Before anything is known of the caller. Throws `access.rateLimited`.
    func countAddress(of request: GatewayRequest) throws(PorticoError) {
        guard let addresses, !RequestPermits.isAlwaysAnswered(request.target.path) else { return }
        let standing = addresses.count(AddressRange.network(of: request.peer))
        guard standing.isExceeded else { return }
        throw .tooMany(standing)
    }

    /// Nil where callers are not counted.
    func count(_ caller: Caller, of request: GatewayRequest) -> RateLimitState? {
        guard callers != nil || !routes.isEmpty, !RequestPermits.isAlwaysAnswered(request.target.path) else {
            return nil
        }
        let key = Self.key(caller, request)
        var standings = routes.filter { $0.rate.covers(request.target.path) }.map { $0.counter.count(key) }
        if let callers { standings.append(callers.count(key)) }
        // What stops the caller, or would stop it first.
        return standings.first(where: \.isExceeded) ?? standings.min { $0.remaining < $1.remaining }
    }

    /// Waits where the caller or the adapter has its share under way already. Throws `server.overloaded` where enough
    /// others wait.
    func take(_ caller: Caller, of request: GatewayRequest, _ adapter: AdapterName?) async throws -> FairShares.Place? {
        guard let adapter else { return nil }
        let place = FairShares.Place(caller: Self.key(caller, request), adapter: adapter.text)
        try await shares.take(place)
        return place
    }

    func leave(_ place: FairShares.Place?) {
        guard let place else { return }
        shares.leave(place)
    }

    /// Whose share the request's work uses.
    static func identity(_ caller: Caller, _ request: GatewayRequest) -> CallerIdentity {
        caller.principal.isAnonymous
            ? .address(AddressRange.network(of: request.peer)) : .account(caller.principal.name)
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

    func count(_ key: String) -> RateLimitState {
        let now = Int64(NIODeadline.now().uptimeNanoseconds)
        return table.withLock { $0.count(key, now: now) }
    }
}

extension PorticoError {
    static func tooMany(_ standing: RateLimitState) -> PorticoError {
        PorticoError(.rateLimited, "That is too many requests in a minute.", retryAfter: max(1, standing.wait))
    }
}

extension HTTPField.Name {
    static let rateLimit = HTTPField.Name("RateLimit")!
    static let rateLimitPolicy = HTTPField.Name("RateLimit-Policy")!
}
