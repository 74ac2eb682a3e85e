import AdapterKit

/// How often which fault is made to happen to an upstream's answers, by seed: the same seed makes the same faults in the
/// same order of calls. A state machine.
///
/// For tests and rehearsals: what the caller sees is what a broken system would have sent.
public struct Chaos: Sendable {
    /// What happens to one call.
    enum Fault: Sendable, Equatable {
        case none
        case delay(Duration)
        /// Only this share of the body arrives, and it ends as if it were complete.
        case truncate(Double)
        /// The bit that is turned, by its place in the body.
        case corrupt(UInt64)
        /// The connection breaks before the answer.
        case reset
        /// A page for people with status 200 instead of the answer.
        case lie
        /// Status 503.
        case fail
    }

    /// In percent of all calls, each; together 100 at most.
    public struct Shares: Sendable, Equatable {
        public var delay = 0
        public var truncate = 0
        public var corrupt = 0
        public var reset = 0
        public var lie = 0
        public var fail = 0

        public init() {}

        /// All together.
        public var sum: Int { delay + truncate + corrupt + reset + lie + fail }
    }

    /// The longest delay.
    static let longestDelay = Duration.seconds(2)

    private let shares: Shares
    private var random: SeededRandom

    public init(seed: UInt64, _ shares: Shares) {
        self.shares = shares
        random = SeededRandom(seed: seed)
    }

    mutating func next() -> Fault {
        let drawn = Int(random.next() % 100)
        let detail = random.next()
        let share = Double(detail >> 11) / Double(UInt64(1) << 53)
        let faults: [(Int, Fault)] = [
            (shares.delay, .delay(Self.longestDelay * share)), (shares.truncate, .truncate(share)),
            (shares.corrupt, .corrupt(detail)), (shares.reset, .reset), (shares.lie, .lie), (shares.fail, .fail),
        ]
        var bound = 0
        for (percent, fault) in faults {
            bound += percent
            if drawn < bound { return fault }
        }
        return .none
    }

    static let page = Array("<html><form method=post><input type=password name=j_password></form></html>".utf8)
}
