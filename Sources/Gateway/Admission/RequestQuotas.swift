import AdapterKit
import Admission
import HTTPTypes
import IPAddresses
import NIOCore
import Synchronization

/// How many requests each address and caller may make a minute, and how much concurrent work each caller and adapter may
/// have.
final class RequestQuotas: Sendable {
    /// Callers that are counted separately at once.
    static let capacity = 100_000

    private let callers: RateCounter?
    private let addresses: RateCounter?
    private let routes: [(rate: RouteRate, counter: RateCounter)]
    private let requests: AdmissionQueue<FairShares>
    /// Requests that consist of others (batches), which have slots of their own: counted apart, so that batches that have
    /// all slots do not wait for their own calls.
    private let batches: AdmissionQueue<FairShares>

    init(_ limits: GatewayLimits) {
        callers = Self.table(limits.requestsPerMinute)
        addresses = Self.table(limits.addressRequestsPerMinute)
        routes = limits.routes.map { rate in
            (rate, RateCounter(RateTable(limit: rate.requestsPerMinute, capacity: Self.capacity)))
        }
        requests = AdmissionQueue(
            FairShares(
                perCaller: limits.callerShare, perAdapter: limits.inFlightPerAdapter,
                queuePerCaller: limits.callerQueue, queuePerAdapter: limits.queuePerAdapter))
        batches = AdmissionQueue(
            FairShares(
                perCaller: max(1, limits.callerShare / 4), perAdapter: limits.inFlightPerAdapter,
                queuePerCaller: limits.callerQueue / 4, queuePerAdapter: limits.queuePerAdapter))
    }

    private static func table(_ limit: Int) -> RateCounter? {
        limit > 0 ? RateCounter(RateTable(limit: limit, capacity: capacity)) : nil
    }

    /// Before anything is known of the caller. Throws `access.rateLimited`.
    func countAddress(of request: GatewayRequest) throws(PorticoError) {
        guard let addresses, request.countedAs == nil, !RequestPermits.isAlwaysAnswered(request.target.path) else {
            return
        }
        let rateLimit = addresses.count(clientNetwork(of: request.peer))
        guard rateLimit.isExceeded else { return }
        throw .tooMany(rateLimit)
    }

    /// Nil where callers are not counted.
    func count(_ caller: Caller, of request: GatewayRequest) -> RateLimitState? {
        guard callers != nil || !routes.isEmpty, !RequestPermits.isAlwaysAnswered(request.target.path) else {
            return nil
        }
        let key = Self.key(caller, request)
        var standings = routes.filter { $0.rate.covers(request.target) }.map { $0.counter.count(key) }
        if let callers { standings.append(callers.count(key, isCounted: request.countedAs == key)) }
        // What stops the caller, or would stop it first.
        return standings.first(where: \.isExceeded) ?? standings.min { $0.remaining < $1.remaining }
    }

    /// A request's place among those under way, or in the queue for one. It has to be left, once.
    enum Place: Sendable {
        /// Health, and operators at the listeners of their own, who must get through.
        case uncounted
        case counted(AdmissionQueue<FairShares>, AdmissionPlace<FairShares>)
    }

    /// Counts the request for its caller and its adapter. Does not wait: where the caller or the adapter has its share under way
    /// already, the place is one in the queue (``wait(for:)``). Throws `server.overloaded` where enough others wait.
    ///
    /// - Parameter isBatch: whether the request has calls of its own, which are counted apart.
    func reserve(
        _ caller: Caller, of request: GatewayRequest, adapter: AdapterName?, isBatch: Bool
    ) throws(PorticoError) -> Place {
        guard caller.adminRole == nil, !RequestPermits.isAlwaysAnswered(request.target.path) else { return .uncounted }
        let queue = isBatch ? batches : requests
        return .counted(
            queue, try queue.reserve(FairShares.Slot(caller: Self.key(caller, request), adapter: adapter?.text)))
    }

    /// Returns when the request may begin. Throws `CancellationError` where its time is over before; it has no place then.
    func wait(for place: Place) async throws {
        guard case .counted(let queue, let place) = place else { return }
        try await queue.wait(for: place)
    }

    func leave(_ place: Place) {
        guard case .counted(let queue, let place) = place else { return }
        queue.leave(place)
    }

    /// Whose share the request's work uses.
    static func identity(_ caller: Caller, _ request: GatewayRequest) -> CallerIdentity {
        caller.principal.isAnonymous
            ? .address(clientNetwork(of: request.peer)) : .account(caller.principal.name)
    }

    static func key(_ caller: Caller, _ request: GatewayRequest) -> String {
        caller.principal.isAnonymous ? clientNetwork(of: request.peer) : caller.principal.name
    }
}

/// The unit by which a peer without an account is counted (``IPAddress/clientNetwork``). Text that is no IP address, as
/// at a Unix socket, stays as it is.
func clientNetwork(of peer: String) -> String {
    peer.contains(":") ? IPAddress(peer)?.clientNetwork ?? peer : peer
}

/// A rate limit across threads.
final class RateCounter: Sendable {
    private let table: Mutex<RateTable>
    private let now: @Sendable () -> Int64

    /// - Parameter now: Nanoseconds of any steady clock.
    init(_ table: RateTable, now: @escaping @Sendable () -> Int64 = uptime) {
        self.table = Mutex(table)
        self.now = now
    }

    static let uptime: @Sendable () -> Int64 = { Int64(NIODeadline.now().uptimeNanoseconds) }

    @discardableResult
    func count(_ key: String, isCounted: Bool = false) -> RateLimitState {
        isCounted ? state(of: key) : table.withLock { $0.count(key, now: now()) }
    }

    /// How a caller stands, without counting anything.
    func state(of key: String) -> RateLimitState {
        table.withLock { $0.state(of: key, now: now()) }
    }
}

extension PorticoError {
    static func tooMany(_ rateLimit: RateLimitState) -> PorticoError {
        PorticoError(.rateLimited, "That is too many requests in a minute.", retryAfter: max(1, rateLimit.wait))
    }
}

extension HTTPField.Name {
    static let rateLimit = HTTPField.Name("RateLimit")!
    static let rateLimitPolicy = HTTPField.Name("RateLimit-Policy")!
}

/// The rate limit of many callers by the generic cell rate algorithm: for each caller the time at which its allowance
/// is full again. One number for each, nothing to refill.
struct RateTable {
    /// Nanoseconds.
    static let window: Int64 = 60_000_000_000

    /// Requests in a minute; all of them may come at once.
    let limit: Int
    private let capacity: Int
    private let spacing: Int64
    private var wholeAt: [String: Int64] = [:]

    /// `capacity`: so many callers are counted separately. Those beyond share one allowance until others have theirs back.
    init(limit: Int, capacity: Int) {
        self.limit = limit
        self.capacity = capacity
        spacing = Self.window / Int64(max(limit, 1))
    }

    /// Counts a request at `now`, in nanoseconds of any steady clock; one that is over the limit is not counted.
    mutating func count(_ caller: String, now: Int64) -> RateLimitState {
        let key = keyWithRoom(for: caller, now: now)
        let next = max(wholeAt[key] ?? 0, now) + spacing
        let over = next - now - Self.window
        guard over <= 0 else {
            return RateLimitState(limit: limit, remaining: 0, wait: Self.seconds(over), isExceeded: true)
        }
        wholeAt[key] = next
        return RateLimitState(
            limit: limit, remaining: Int((Self.window - (next - now)) / spacing), wait: Self.seconds(spacing),
            isExceeded: false)
    }

    /// How a caller stands, without counting anything.
    func state(of caller: String, now: Int64) -> RateLimitState {
        let left = Self.window - max((wholeAt[caller] ?? 0) - now, 0)
        return RateLimitState(
            limit: limit, remaining: Int(left / spacing), wait: Self.seconds(spacing), isExceeded: false)
    }

    private mutating func keyWithRoom(for caller: String, now: Int64) -> String {
        guard wholeAt.count >= capacity, wholeAt[caller] == nil else { return caller }
        wholeAt = wholeAt.filter { $0.value > now }
        return wholeAt.count < capacity ? caller : ""
    }

    private static func seconds(_ nanoseconds: Int64) -> Int { Int((nanoseconds + 999_999_999) / 1_000_000_000) }
}

/// How a caller stands with its allowance, in the fields of draft-ietf-httpapi-ratelimit-headers-10.
struct RateLimitState: Equatable {
    let limit: Int
    let remaining: Int
    /// Seconds until there is one more, or until the next is taken.
    let wait: Int
    let isExceeded: Bool

    func addFields(to response: inout GatewayResponse) {
        response.headers[.rateLimitPolicy] = "\"default\";q=\(limit);w=\(RateTable.window / 1_000_000_000)"
        response.headers[.rateLimit] = "\"default\";r=\(remaining);t=\(wait)"
    }
}
