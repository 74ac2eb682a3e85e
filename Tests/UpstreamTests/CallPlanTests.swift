import AdapterKit
import Testing
import UpstreamStandIn

@testable import Upstream

@Suite struct CallPlanTests {
    @Test func `a pause is drawn from zero up to a bound that doubles`() throws {
        for jitter in [0.0, 0.25, 1.0] {
            let (plan, budget) = try plan { $0.tries = 4 }
            let pauses = pauses(plan, budget, jitter: jitter, after: try answer(503))
            #expect(pauses == [100, 200, 400].map { .milliseconds($0) * jitter })
        }
    }

    @Test func `the server's own Retry-After is waited for, in seconds`() throws {
        for (text, expected) in [("7", Duration.seconds(7)), ("-1", .zero), ("soon", .zero), ("9999999999", .zero)] {
            for status in [429, 503] {
                let (plan, budget) = try plan { $0.tries = 2 }
                let answer = try answer(status, ["Retry-After": text])
                #expect(pauses(plan, budget, jitter: 0, after: answer) == [expected])
            }
        }
    }

    @Test func `an answer is delivered whose Retry-After is longer than the whole call may take`() throws {
        for status in [429, 503] {
            var (plan, budget) = try plan { ($0.tries, $0.deadline) = (2, .seconds(10)) }
            let answer = try answer(status, ["Retry-After": "10"])
            guard case .deliver = plan.next(after: .answered(answer), &budget, jitter: 0) else {
                Issue.record("\(status) is waited for")
                return
            }
        }
    }

    @Test func `a spent budget ends the tries`() throws {
        var (plan, budget) = try plan { $0.tries = 4 }
        while budget.takeRetry() {}
        guard case .deliver = plan.next(after: .answered(try answer(503)), &budget, jitter: 0) else {
            Issue.record("the answer is not delivered")
            return
        }
    }

    @Test func `a streamed body is sent once`() throws {
        for status in [503, 307] {
            var (plan, budget) = try plan(body: EmptyStream()) { $0.tries = 4 }
            let answer = try answer(status, ["Location": "/again"])
            switch plan.next(after: .answered(answer), &budget, jitter: 0) {
            case .deliver: #expect(status == 503)
            case .fail(let failure): #expect(status == 307 && failure.kind == .redirectRefused)
            default: Issue.record("sent again after \(status)")
            }
        }
    }

    @Test func `fields with credentials of the system's own stay with its server`() throws {
        var (plan, budget) = try plan(fields: ["X-Key": "s", "X-Other": "o"]) { _ in }
        guard
            case .send(let next) = plan.next(
                after: .answered(try answer(302, ["Location": "http://b.example/"])), &budget, jitter: 0)
        else {
            Issue.record("the redirect is not followed")
            return
        }
        #expect(next.fields["X-Key"] == nil && next.fields["X-Other"] == "o")
    }

    private struct EmptyStream: ByteStream {
        func next() async throws -> [UInt8]? { nil }
        func cancel() {}
    }

    private func plan(
        fields: UpstreamHeaders = [:], body: (any ByteStream)? = nil, _ adjust: (inout UpstreamLimits) -> Void
    ) throws -> (CallPlan, RetryBudget) {
        var settings = UpstreamSettings.loopback(["http://a.example/", "http://b.example/"])
        settings.limits.pause = .milliseconds(100)
        adjust(&settings.limits)
        var request = UpstreamRequest(body == nil ? .get : .put, try address("http://a.example/"), fields: fields)
        request.redirects = .followed
        request.streamedBody = body
        request.secretFields = ["X-Key"]
        return (CallPlan(request, settings), RetryBudget(percent: 20))
    }

    private func answer(_ status: Int, _ fields: UpstreamHeaders = [:]) throws -> UpstreamResponse {
        UpstreamResponse(address: try address("http://a.example/"), status: status, fields: fields, body: [])
    }

    private func pauses(
        _ plan: CallPlan, _ budget: RetryBudget, jitter: Double, after answer: UpstreamResponse
    ) -> [Duration] {
        var (plan, budget, pauses) = (plan, budget, [Duration]())
        while case .pause(let pause) = plan.next(after: .answered(answer), &budget, jitter: jitter) {
            pauses.append(pause)
        }
        return pauses
    }
}
