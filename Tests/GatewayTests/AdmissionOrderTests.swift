import AdapterKit
import HTTPTypes
import MemoryStore
import RecordStorage
import Synchronization
import Testing

@testable import Gateway

/// ``Gateway/admit(_:)`` by itself: each step's failure is the answer although all later steps would fail too, and no step
/// is taken twice.
@Suite struct AdmissionOrderTests {
    private struct FixedClock: WallClock {
        func now() -> WireDate { WireDate(secondsSince1970: 0) }
    }

    /// Whose credential is `known` is in memory, `stored` is looked up, `wrong` is nobody's.
    private final class ScriptedAuthenticator: Authenticator {
        let lookUps = Mutex(0)

        private static let member = Caller(
            principal: Principal(kind: .user, id: "1", name: "member"), authentication: nil, sessionCookie: nil)

        func caller(of request: GatewayRequest) async throws -> Caller {
            lookUps.withLock { $0 += 1 }
            guard request.headers[.authorization] == "stored" else {
                throw PorticoError(.credentialsInvalid, "The credential is not valid.")
            }
            return Self.member
        }

        func immediateCaller(of request: GatewayRequest) -> Caller? {
            switch request.headers[.authorization] {
            case nil: .anonymous
            case "known": Self.member
            default: nil
            }
        }

        func challenge(_ response: inout GatewayResponse) {}
    }

    private struct Scripted: Endpoint {
        let properties: EndpointProperties
        let description = EndpointDescription(summary: "", tag: "")
        var kept: CachedResponse?

        var mayRespondImmediately: Bool { true }

        func lookUpResponse(to request: AuthenticatedRequest) -> CacheLookup {
            kept.map { .found($0) } ?? .missing(nil)
        }

        func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse { GatewayResponse(.accepted) }
    }

    private static let adapterLimits = AdapterLimits(
        start: .seconds(1), startWait: .seconds(1), longestRetry: .seconds(1), stop: .seconds(1))

    private let authenticator = ScriptedAuthenticator()

    private func gateway(_ change: (inout GatewayLimits) -> Void = { _ in }) throws -> Gateway {
        var limits = GatewayLimits()
        change(&limits)
        let clock = FixedClock()
        let services = GatewayServices(store: MemoryStore(clock: clock), limits: limits, clock: clock)
        let stopped = AdapterStatus(limits: Self.adapterLimits)
        let cached = Scripted(
            properties: EndpointProperties(name: "cached", access: .public, effect: .reads),
            kept: CachedResponse(GatewayResponse(.ok, headers: [.eTag: "\"a\""], body: [1, 2, 3])))
        let stoppedWrite = Scripted(
            properties: EndpointProperties(name: "write", access: .login, effect: .writes, status: stopped))
        let write = Scripted(properties: EndpointProperties(name: "free", access: .login, effect: .writes))
        return Gateway(
            routes: try RouteTable([
                Route(.get, "/cached", cached), Route(.post, "/stopped", stoppedWrite), Route(.post, "/write", write),
            ]), authenticator: authenticator, csrf: CSRFProtection(identity: nil),
            cors: CrossOrigin(origins: [], maxAge: 0), services: services,
            errors: ErrorWriter(answers: services.encoder),
            log: .discarding)
    }

    private func request(
        _ method: HTTPRequest.Method, _ path: String, _ credential: String? = nil, _ fields: HTTPFields = [:]
    ) -> GatewayRequest {
        var fields = fields
        fields[.authorization] = credential
        return GatewayRequest(
            id: "1", method: method, target: RequestTarget(path) ?? .root, headers: fields, peer: "192.0.2.1",
            body: .bytes([]), deadline: .now + .seconds(60))
    }

    private func status(_ step: AdmissionStep) -> Int? {
        if case .answered(let answer) = step { answer.response.status.code } else { nil }
    }

    @Test func `the first step that fails is the answer`() async throws {
        let none: (inout GatewayLimits) -> Void = { $0.addressRequestsPerMinute = 1 }
        let limited = try gateway(none)
        _ = limited.admit(request(.get, "/cached"))
        #expect(status(limited.admit(request(.get, "/nothing", "wrong"))) == 429)

        let gateway = try gateway()
        #expect(status(gateway.admit(request(.get, "/nothing", "wrong"))) == 404)
        #expect(status(gateway.admit(request(.delete, "/stopped", "wrong"))) == 405)
        #expect(await gateway.respond(to: request(.post, "/stopped", "wrong")).response.status.code == 401)
        #expect(status(gateway.admit(request(.post, "/stopped"))) == 401)
        #expect(status(gateway.admit(request(.post, "/stopped", "known", [.accept: "image/png"]))) == 503)
        #expect(status(gateway.admit(request(.post, "/write", "known", [.accept: "image/png"]))) == 406)
        #expect(status(gateway.admit(request(.post, "/write", "known"))) == nil)
        #expect(await gateway.respond(to: request(.post, "/write", "known")).response.status == .accepted)
    }

    @Test func `the rate of a caller comes before its access`() async throws {
        let gateway = try gateway { $0.requestsPerMinute = 1 }
        #expect(status(gateway.admit(request(.post, "/stopped"))) == 401)
        #expect(status(gateway.admit(request(.post, "/stopped"))) == 429)
    }

    @Test func `a caller whose credential has to be looked up goes through each step once`() async throws {
        let gateway = try gateway {
            $0.requestsPerMinute = 3
            $0.addressRequestsPerMinute = 3
        }
        for _ in 0..<3 {
            let step = gateway.admit(request(.get, "/cached", "stored"))
            #expect(status(step) == nil)
            #expect(await gateway.complete(step).response.status == .ok)
        }
        #expect(authenticator.lookUps.withLock { $0 } == 3)
        #expect(status(gateway.admit(request(.get, "/cached", "stored"))) == 429)
    }

    @Test func `a request beyond its account's share is answered before anything waits, and takes no place`()
        async throws
    {
        let gateway = try gateway {
            $0.inFlightPerCaller = 1
            $0.queuePerCaller = 1
        }
        let steps = (0..<3).map { _ in gateway.reserve(gateway.admit(request(.post, "/write", "known"))) }
        #expect(steps.map(status) == [nil, nil, 503])
        for step in steps { _ = await gateway.complete(step) }
        #expect(status(gateway.reserve(gateway.admit(request(.post, "/write", "known")))) == nil)
    }

    @Test func `a cached response is found by whichever way the caller is`() async throws {
        let gateway = try gateway()
        for credential in [nil, "known", "stored"] {
            let answer = await gateway.respond(to: request(.get, "/cached", credential))
            #expect(answer.isCached)
            #expect(answer.response.body == [1, 2, 3])
        }
        let unchanged = await gateway.respond(to: request(.get, "/cached", nil, [.ifNoneMatch: "\"a\""]))
        #expect(unchanged.response.status == .notModified && unchanged.response.body.isEmpty)
        let head = await gateway.respond(to: request(.head, "/cached"))
        #expect(head.response.body.isEmpty && head.response.headers[.contentLength] == "3")
    }
}
