import AdapterKit

/// One call from its first try to its end: tries and redirects. A state machine; ``HTTPUpstream`` carries out what it
/// says.
struct CallPlan: Sendable {
    enum Action: Sendable {
        case send(UpstreamRequest)
        case pause(Duration)
        case deliver(UpstreamResponse)
        case fail(UpstreamFailure)
    }

    enum Outcome: Sendable {
        case answered(UpstreamResponse)
        /// `wasSent`: whether the other side may have seen the request.
        case failed(UpstreamFailure, wasSent: Bool)
    }

    private let settings: UpstreamSettings
    private(set) var request: UpstreamRequest
    private var tries = 1
    private var redirects = 0

    init(_ request: UpstreamRequest, _ settings: UpstreamSettings) {
        self.request = request
        self.settings = settings
    }

    /// `jitter`: from 0 up to 1, drawn anew for each call of this function.
    mutating func next(after outcome: Outcome, _ budget: inout RetryBudget, jitter: Double) -> Action {
        switch outcome {
        case .answered(let response):
            if Self.overloads.contains(response.status) || response.status == Self.tooMany, canRepeat,
                let pause = tryAgain(&budget, jitter, after: Self.askedPause(response))
            {
                return pause
            }
            guard request.redirects == .followed, let target = response.redirect else { return .deliver(response) }
            return follow(to: target, status: response.status)
        case .failed(let failure, let wasSent):
            guard Self.passing.contains(failure.kind), canRepeat || (!wasSent && request.streamedBody == nil),
                let pause = tryAgain(&budget, jitter, after: .zero)
            else { return .fail(failure) }
            return pause
        }
    }

    /// The status by which a server says that it had too many requests, and that it is well (RFC 6585, section 4).
    private static let tooMany = 429
    /// Statuses by which a gateway says that it may work the next time.
    private static let overloads: Set<Int> = [502, 503, 504]
    /// Whether a status says that the server itself cannot answer.
    static func isOverload(_ status: Int) -> Bool { overloads.contains(status) }
    private static let passing: Set<UpstreamFailure.Kind> = [.unreachable, .broken]

    /// The meaning of an outcome for the server itself: one that answers, and be it with a refusal, is there.
    static func circuitOutcome(_ outcome: Outcome) -> CircuitBreaker.Outcome {
        switch outcome {
        case .answered(let response): overloads.contains(response.status) ? .failed : .answered
        case .failed(let failure, _):
            switch failure.kind {
            case .unreachable, .broken, .timedOut: .failed
            case .answerTooLarge: .answered
            default: .unknown
            }
        }
    }

    /// A body that was read once is gone.
    private var canRepeat: Bool { request.isIdempotent && request.streamedBody == nil }

    /// "Full jitter": drawn from zero up to a bound that doubles. Nil also where the pause that is asked for is longer than
    /// the whole call may take: what was answered is more use then than a call that ends by its deadline.
    private mutating func tryAgain(_ budget: inout RetryBudget, _ jitter: Double, after asked: Duration) -> Action? {
        guard tries < settings.limits.tries, asked < request.deadline ?? settings.limits.deadline, budget.takeRetry()
        else { return nil }
        tries += 1
        let bound = settings.limits.pause * (1 << min(tries - 2, 16))
        return .pause(max(asked, bound * min(max(jitter, 0), 1)))
    }

    /// `Retry-After` in seconds (RFC 9110, section 10.2.3); a date is ignored.
    private static func askedPause(_ response: UpstreamResponse) -> Duration {
        guard let text = response.fields["Retry-After"], text.utf8.count <= 6, let seconds = Int(text), seconds > 0
        else { return .zero }
        return .seconds(seconds)
    }

    private mutating func follow(to target: UpstreamAddress, status: Int) -> Action {
        redirects += 1
        let isPostAgain = request.streamedBody != nil && !(status == 303 || (request.method == .post && status <= 302))
        guard !isPostAgain else { return refuse("a streamed body cannot be sent again") }
        guard redirects <= settings.limits.redirects else { return refuse("more redirects than are allowed") }
        guard settings.origins.contains(target.origin) else { return refuse("\(target.origin) is not configured") }
        guard target.origin.isSecure || !request.address.origin.isSecure else { return refuse("from https to http") }
        if status == 303 || (request.method == .post && status <= 302) { becomeGet() }
        if target.origin != request.address.origin {
            guard request.body.isEmpty, request.streamedBody == nil else {
                return refuse("a body is not sent to another server")
            }
            for name in Self.credentials + request.secretFields { request.fields[name] = nil }
        }
        request.address = target
        return .send(request)
    }

    /// RFC 9110, section 15.4: what every client does with 301 and 302, and must do with 303.
    private mutating func becomeGet() {
        guard request.method != .head else { return }
        request.method = .get
        request.isIdempotent = true
        request.body = []
        request.streamedBody = nil
        for name in ["Content-Type", "Content-Length", "Content-Encoding"] { request.fields[name] = nil }
    }

    private static let credentials = ["Authorization", "Cookie", "X-CSRF-Token", "Proxy-Authorization"]

    private func refuse(_ detail: String) -> Action {
        .fail(UpstreamFailure(.redirectRefused, of: settings.name, detail: detail))
    }
}
