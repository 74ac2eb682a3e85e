extension LoginBackoff {
    /// `identity.login.backoff`: how failed sign-ins slow down further ones.
    public struct Limits: Sendable, Equatable {
        /// For one account from one address.
        public var pair = Curve(free: 5, first: .seconds(1), cap: .seconds(15 * 60))
        /// For one account from wherever it has not signed in lately. The cap is low: somebody else's guessing must not
        /// keep a person out.
        public var account = Curve(free: 20, first: .seconds(1), cap: .seconds(60))
        /// For one address, whatever the account. Many people may share one.
        public var address = Curve(free: 50, first: .seconds(1), cap: .seconds(5 * 60))
        /// After how long without a failure everything is forgotten.
        public var forgottenAfter = Duration.seconds(3600)
        /// How many accounts, addresses and pairs are remembered in all; beyond, the ones that failed longest ago go.
        public var entries = 100_000

        public init() {}
    }

    /// `free` failures cost nothing; the next waits for `first`, and each one after that twice as long, up to `cap`.
    public struct Curve: Sendable, Equatable {
        public var free: Int
        public var first: Duration
        public var cap: Duration

        public init(free: Int, first: Duration, cap: Duration) {
            self.free = free
            self.first = first
            self.cap = cap
        }

        func delay(after failures: Int) -> Double {
            guard failures > free else { return 0 }
            var delay = first.inSeconds
            for _ in 0..<min(failures - free - 1, 60) { delay *= 2 }
            return min(delay, cap.inSeconds)
        }
    }
}
