import HTTPTypes

/// Who has asked how often, as the time at which everybody's allowance will be whole again (the generic cell rate
/// algorithm): one number for each caller, nothing to refill.
struct RateTable {
    /// Nanoseconds.
    static let window: Int64 = 60_000_000_000

    /// Requests in a minute; all of them may come at once.
    let limit: Int
    private let capacity: Int
    private let spacing: Int64
    private var wholeAt: [String: Int64] = [:]

    /// `capacity`: so many callers are told apart. Those beyond share one allowance until others have theirs back.
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

    func label(_ response: inout GatewayResponse) {
        response.headers[.rateLimitPolicy] = "\"default\";q=\(limit);w=\(RateTable.window / 1_000_000_000)"
        response.headers[.rateLimit] = "\"default\";r=\(remaining);t=\(wait)"
    }
}
