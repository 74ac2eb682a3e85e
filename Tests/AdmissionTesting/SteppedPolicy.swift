import Admission

/// A policy that a test takes through its steps. Requests have the numbers in which they arrive, from 1, refused ones too.
public final class SteppedPolicy<Policy: AdmissionPolicy> {
    public enum Entry: Sendable, Equatable {
        case admitted, waits, refused
    }

    public var policy: Policy
    /// When the steps are made.
    public var now = ContinuousClock.now
    /// The number of the last request.
    public private(set) var last: AdmissionTicket = 0
    /// Requests that have been refused, whether they had waited or not, with the reason.
    public private(set) var refused: [AdmissionTicket: Policy.Refusal] = [:]
    /// Requests that have been admitted, in that order.
    public private(set) var admitted: [AdmissionTicket] = []
    private var requests: [AdmissionTicket: Policy.Request] = [:]

    public init(_ policy: Policy) {
        self.policy = policy
    }

    @discardableResult
    public func enter(_ request: Policy.Request) -> Entry {
        last += 1
        let ticket = last
        requests[ticket] = request
        switch policy.arrive(request, as: ticket, at: now) {
        case .admitted: admitted.append(ticket)
        case .refused(let refusal): refused[ticket] = refusal
        case .waits: break
        case .undecided: _ = decide()
        }
        return admitted.contains(ticket) ? .admitted : refused[ticket] == nil ? .waits : .refused
    }

    /// Those that are admitted then.
    @discardableResult
    public func leave(_ ticket: AdmissionTicket, _ end: Policy.End) -> [AdmissionTicket] {
        guard let request = requests[ticket] else { return [] }
        policy.leave(request, as: ticket, end, at: now)
        return decide()
    }

    /// A request that waits is given up. Those that are admitted then.
    @discardableResult
    public func abandon(_ ticket: AdmissionTicket) -> [AdmissionTicket] {
        policy.abandon(ticket)
        return decide()
    }

    /// Those that are admitted now.
    @discardableResult
    public func decide() -> [AdmissionTicket] {
        let before = admitted.count
        while let decision = policy.next(at: now) {
            switch decision {
            case .admit(let ticket, _): admitted.append(ticket)
            case .refuse(let ticket, let refusal): refused[ticket] = refusal
            }
        }
        return Array(admitted[before...])
    }
}

extension SteppedPolicy where Policy.End == Void {
    /// Those that are admitted then.
    @discardableResult
    public func leave(_ ticket: AdmissionTicket) -> [AdmissionTicket] { leave(ticket, ()) }
}
