import AdapterKit
import Testing
import WireFormats

@testable import StandInService

@Suite struct FaultTests {
    private let start = ContinuousClock.now

    private func fault(_ value: WireValue) throws -> Fault { try #require(try Fault(value, at: start)) }

    @Test func `a fault is in force until its time is over`() throws {
        var plan = FaultPlan(seed: 1)
        try plan.add(try fault(["kind": "hang", "forMilliseconds": 1_000]), at: start)
        #expect(plan.fault(for: "/employees", at: start.advanced(by: .milliseconds(999)))?.kind == .hang)
        #expect(plan.fault(for: "/employees", at: start.advanced(by: .milliseconds(1_000))) == nil)
    }

    @Test func `of several faults the one with the longest path is in force`() throws {
        var plan = FaultPlan(seed: 1)
        try plan.add(try fault(["kind": "hang"]), at: start)
        try plan.add(try fault(["kind": "error", "status": 503, "path": "/employees"]), at: start)
        #expect(plan.fault(for: "/employees/E100000", at: start)?.kind == .error(503))
        #expect(plan.fault(for: "/v1/list", at: start)?.kind == .hang)
        try plan.add(try fault(["kind": "reset", "path": "/employees"]), at: start)
        #expect(plan.fault(for: "/employees", at: start)?.kind == .reset)
        plan.clear("/employees")
        #expect(plan.fault(for: "/employees", at: start)?.kind == .hang)
        plan.clear("/")
        #expect(plan.fault(for: "/employees", at: start) == nil)
    }

    @Test func `a share of the requests is that share, and the same one for one seed`() throws {
        var (plan, same) = (FaultPlan(seed: 9), FaultPlan(seed: 9))
        let fault = try fault(["kind": "hang", "share": 0.2])
        try plan.add(fault, at: start)
        try same.add(fault, at: start)
        let drawn = (0..<10_000).map { _ in plan.fault(for: "/", at: start) != nil }
        #expect((1_800...2_200).contains(drawn.count { $0 }))
        #expect(drawn == (0..<10_000).map { _ in same.fault(for: "/", at: start) != nil })
    }

    @Test func `an order that makes no sense is refused`() {
        for order: WireValue in [
            [:], ["kind": "sulk"], ["kind": "slow"], ["kind": "slow", "delayMilliseconds": 0],
            ["kind": "slow", "delayMilliseconds": 9_999_999], ["kind": "error"], ["kind": "error", "status": 200],
            ["kind": "hang", "share": 0], ["kind": "hang", "share": 1.5], ["kind": "hang", "share": "most"],
            ["kind": "hang", "path": "employees"], ["kind": "hang", "forMilliseconds": -1], "hang",
        ] {
            #expect(throws: ServiceError.self, "\(order)") { try Fault(order, at: start) }
        }
        var plan = FaultPlan(seed: 1)
        #expect(throws: ServiceError.self) {
            for number in 0...Fault.limit {
                try plan.add(
                    try #require(try Fault(["kind": "hang", "path": .string("/\(number)")], at: start)), at: start)
            }
        }
        #expect(plan.faults.count == Fault.limit)
    }

    @Test func `a write is carried out where its answer is needed or the order says so, and else not`() throws {
        for (order, isApplied): (WireValue, Bool) in [
            (["kind": "hang"], false), (["kind": "hang", "carriesOut": true], true),
            (["kind": "reset"], false), (["kind": "reset", "carriesOut": true], true),
            (["kind": "error", "status": 500], false), (["kind": "error", "status": 500, "carriesOut": true], true),
            (["kind": "drip"], true), (["kind": "truncate"], true), (["kind": "slow", "delayMilliseconds": 5], true),
            (["kind": "garbage"], false), (["kind": "login-page"], false), (["kind": "empty"], false),
            (["kind": "huge"], false),
        ] {
            let service = StandInService(SystemOfRecord.Settings())
            _ = try send(service, "POST", "/stand-in/faults", order)
            let employee: WireValue = ["firstName": "A", "lastName": "B", "division": "C"]
            _ = try send(service, "POST", "/employees", employee)
            let status = try send(service, "GET", "/stand-in/status")
            guard case .whole(let response) = status else { throw Mismatch() }
            #expect(try response.json()["applied"]?.int64Value == (isApplied ? 1 : 0), "\(order)")
        }
    }

    @Test func `each fault keeps the media type that a client expects, but for the page`() throws {
        for (path, type) in [
            ("/employees", "application/json"), ("/v1/list", "application/xml; charset=utf-8"),
            ("/plists/sonnets", "application/x-plist"),
        ] {
            let service = StandInService(SystemOfRecord.Settings())
            for (kind, expected) in [("garbage", type), ("login-page", "text/html; charset=utf-8"), ("empty", type)] {
                _ = try send(service, "POST", "/stand-in/faults", ["kind": .string(kind)])
                guard case .whole(let response) = try send(service, "GET", path) else { throw Mismatch() }
                #expect(response.status == 200 && response.contentType == expected)
            }
        }
    }

    @Test func `orders come from this machine, as JSON, and no fault is done to them`() throws {
        let service = StandInService(SystemOfRecord.Settings())
        func status(_ delivery: StandInService.Delivery) throws -> Int {
            guard case .whole(let response) = delivery else { throw Mismatch() }
            return response.status
        }
        let hang: WireValue = ["kind": "hang"]
        #expect(try status(send(service, "POST", "/stand-in/faults", hang, isLocal: false)) == 403)
        #expect(try status(send(service, "POST", "/stand-in/faults", hang, type: "text/plain")) == 400)
        #expect(try status(send(service, "POST", "/stand-in/faults", hang)) == 200)
        guard case .hang = try send(service, "GET", "/employees") else { throw Mismatch() }
        #expect(try status(send(service, "GET", "/stand-in/status")) == 200)
        for order: WireValue in [
            ["count": 0], ["count": 2_000_000], ["count": 1, "table": "x"], ["count": 1, "kind": "x"],
        ] {
            #expect(try status(send(service, "POST", "/stand-in/changes", order)) == 400)
        }
    }

    private struct Mismatch: Error {}

    private func send(
        _ service: StandInService, _ method: String, _ target: String, _ value: WireValue? = nil, isLocal: Bool = true,
        type: String = "application/json"
    ) throws -> StandInService.Delivery {
        let body = try value.map { try JSONFormat().write($0) } ?? []
        let request = try #require(
            ServiceRequest(method: method, target: target, fields: [(name: "Content-Type", value: type)], body: body))
        return service.deliver(request, isLocal: isLocal, at: start)
    }
}
