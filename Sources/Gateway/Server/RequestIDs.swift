/// Names requests: a random part for each process, then a count, both to base 36.
struct RequestIDs: Sendable {
    private static let digits = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)
    /// Digits of the largest count.
    private static let longest = 13

    private let prefix: [UInt8]
    private let count = SharedCounter()

    init(random: UInt64) {
        prefix = Array("\(String(random, radix: 36))-".utf8)
    }

    /// Written from its end, in one piece: every request has one.
    func next() -> String {
        var rest = count.next()
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: prefix.count + Self.longest) { room in
            var start = room.count
            repeat {
                start -= 1
                room[start] = Self.digits[Int(rest % 36)]
                rest /= 36
            } while rest > 0
            start -= prefix.count
            for (place, byte) in prefix.enumerated() { room[start + place] = byte }
            return String(decoding: UnsafeBufferPointer(rebasing: room[start...]), as: UTF8.self)
        }
    }
}
