/// Names requests: a random part for each process, then a count.
struct RequestIDs: Sendable {
    private let prefix: String
    private let count = SharedCounter()

    init(random: UInt64) {
        prefix = String(random, radix: 36)
    }

    func next() -> String { "\(prefix)-\(String(count.next(), radix: 36))" }
}
