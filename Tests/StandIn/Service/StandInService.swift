import AdapterKit
import Synchronization

/// A small service with the interfaces of systems that Portico mirrors, for trying out and for tests: deterministic rows,
/// faults by order, and a ledger of the writes that were applied. It keeps everything in memory.
///
/// From any thread; a request is answered under a lock.
package final class StandInService: Sendable {
    private struct State {
        var system: SystemOfRecord
        var plan: FaultPlan
        var requests = 0
    }

    /// What is sent.
    enum Delivery: Sendable {
        case whole(ServiceResponse)
        case late(ServiceResponse, Duration)
        case drip(ServiceResponse)
        /// The response's first half, with the whole one's length; then the connection ends.
        case half(ServiceResponse)
        /// The same, and the connection is reset.
        case halfThenReset(ServiceResponse)
        case reset
        case hang
        /// A body of so many bytes.
        case huge(ServiceResponse, Int)
    }

    /// Where orders go; no fault is done to them.
    static let orders = "stand-in"
    static let hugeBytes = 1 << 30
    private static let garbageBytes = 4_096

    private let state: Mutex<State>

    init(_ settings: SystemOfRecord.Settings) {
        state = Mutex(State(system: SystemOfRecord(settings), plan: FaultPlan(seed: settings.seed)))
    }

    /// Orders (paths below ``orders``) are taken from this machine alone.
    func deliver(_ request: ServiceRequest, isLocal: Bool, at now: ContinuousClock.Instant) -> Delivery {
        state.withLock { state in
            if request.segments.first == Self.orders {
                return .whole(Self.response(toOrder: request, isLocal: isLocal, at: now, &state))
            }
            state.requests += 1
            guard let fault = state.plan.fault(for: request.path, at: now) else {
                return .whole(state.system.respond(to: request))
            }
            return Self.faulty(request, fault, &state)
        }
    }

    private static func faulty(_ request: ServiceRequest, _ fault: Fault, _ state: inout State) -> Delivery {
        // Only a genuine answer tells which media type the path has; where the request is not to be carried out, a
        // service without rows makes it.
        let genuine: ServiceResponse
        if fault.kind.needsAnswer || fault.carriesOut {
            genuine = state.system.respond(to: request)
        } else {
            var empty = state.system.withoutRows
            genuine = empty.respond(to: request)
        }
        switch fault.kind {
        case .hang: return .hang
        case .drip: return .drip(genuine)
        case .reset: return fault.carriesOut ? .halfThenReset(genuine) : .reset
        case .truncate: return .half(genuine)
        case .slow(let delay): return .late(genuine, delay)
        case .garbage:
            var random = SeededRandom(seed: UInt64(state.requests))
            let bytes = (0..<garbageBytes).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            return .whole(ServiceResponse(200, contentType: genuine.contentType, body: bytes))
        case .loginPage:
            return .whole(ServiceResponse(200, contentType: "text/html; charset=utf-8", body: loginPage))
        case .empty:
            guard request.isRead || genuine.status < 400 else { return .whole(genuine) }
            var empty = state.system.withoutRows
            return .whole(empty.respond(to: request))
        case .huge:
            return .huge(ServiceResponse(200, contentType: genuine.contentType), hugeBytes)
        case .error(let status):
            let error = ServiceError(status: status, code: "fault", message: "This failure was ordered.")
            let isSOAP = SOAPInterface.isAt(request.segments)
            if isSOAP { return .whole(state.system.soap.fault(error, to: request)) }
            return .whole(AdmissionsService.response(error, to: request) ?? error.response)
        }
    }

    private static let loginPage = Array(
        """
        <!DOCTYPE html><title>Sign in</title><form method="post" action="/login">
        <input name="user"><input type="password" name="password"><button>Sign in</button></form>

        """.utf8)

    // MARK: Orders

    private static func response(
        toOrder request: ServiceRequest, isLocal: Bool, at now: ContinuousClock.Instant, _ state: inout State
    ) -> ServiceResponse {
        do { return try order(request, isLocal: isLocal, at: now, &state) } catch { return error.response }
    }

    private static func order(
        _ request: ServiceRequest, isLocal: Bool, at now: ContinuousClock.Instant, _ state: inout State
    ) throws(ServiceError) -> ServiceResponse {
        guard isLocal else {
            throw ServiceError(status: 403, code: "remote", message: "Orders are taken from this machine alone.")
        }
        switch (request.method, request.segments.dropFirst().first ?? "") {
        case ("GET", "status"): return status(state)
        case ("POST", "faults"):
            let order = try ordered(request)
            if let fault = try Fault(order, at: now) {
                try state.plan.add(fault, at: now)
            } else {
                state.plan.clear(order["path"]?.stringValue ?? "/")
            }
            return status(state)
        case ("POST", "sessions"):
            _ = try ordered(request)
            state.system.admissions.endSessions()
            return status(state)
        case ("POST", "changes"):
            let order = try ordered(request)
            guard let count = order["count"]?.int64Value, (1...Int64(SystemOfRecord.most.employees)).contains(count)
            else { throw .invalid("count is a number from 1 to \(SystemOfRecord.most.employees).") }
            guard let table = SystemOfRecord.Changes.Table(rawValue: order["table"]?.stringValue ?? "employees"),
                let kind = SystemOfRecord.Changes.Kind(rawValue: order["kind"]?.stringValue ?? "update")
            else { throw .invalid("There is no such table or kind of change.") }
            let done = state.system.change(.init(count: Int(count), table: table, kind: kind))
            return .json(["changed": .int64(Int64(done))])
        default: throw .missing("There is no such order.")
        }
    }

    /// A page in a browser cannot send JSON to another origin without asking first.
    private static func ordered(_ request: ServiceRequest) throws(ServiceError) -> WireValue {
        guard request["Content-Type"] == "application/json" else { throw .invalid("An order is JSON.") }
        return try request.json()
    }

    private static func status(_ state: State) -> ServiceResponse {
        let faults = state.plan.faults.map { fault -> WireValue in
            ["kind": .string("\(fault.kind)"), "path": .string(fault.path), "share": .double(fault.share)]
        }
        return .json([
            "requests": .int64(Int64(state.requests)), "applied": .int64(Int64(state.system.applied.total)),
            "repeats": .int64(Int64(state.system.applied.repeats)),
            "employees": .int64(Int64(state.system.employees.count)),
            "users": .int64(Int64(state.system.users.count)), "faults": .array(faults),
        ])
    }
}
