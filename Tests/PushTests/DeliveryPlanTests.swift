import AdapterKit
import Testing

@testable import Push

@Suite struct DeliveryPlanTests {
    private var limits: PushLimits {
        var limits = PushLimits()
        limits.tries = 3
        limits.pause = .seconds(1)
        limits.longestPause = .seconds(10)
        return limits
    }

    @Test func `pauses double until the tries are used up`() {
        var plan = DeliveryPlan(limits)
        #expect(plan.next(after: .later(nil, "busy")) == .pause(.seconds(1)))
        #expect(plan.next(after: .later(nil, "busy")) == .pause(.seconds(2)))
        #expect(plan.next(after: .later(nil, "busy")) == .end(.failed("busy")))
    }

    @Test func `a service may ask for a longer pause, up to the longest`() {
        var plan = DeliveryPlan(limits)
        #expect(plan.next(after: .later(.seconds(7), "busy")) == .pause(.seconds(7)))
        #expect(plan.next(after: .later(.seconds(11), "busy")) == .end(.failed("busy")))
    }

    @Test func `what is settled is not tried again`() {
        var plan = DeliveryPlan(limits)
        #expect(plan.next(after: .deviceGone) == .end(.deviceGone))
        plan = DeliveryPlan(limits)
        #expect(plan.next(after: .refused("no")) == .end(.failed("no")))
        plan = DeliveryPlan(limits)
        #expect(plan.next(after: .later(nil, "busy")) == .pause(.seconds(1)))
        #expect(plan.next(after: .delivered) == .end(.delivered))
    }
}
