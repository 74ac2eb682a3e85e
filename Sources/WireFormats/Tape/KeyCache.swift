/// Remembers the keys made last: the records of a list have the same ones, and comparing is cheaper than making. A short
/// document has too few for that.
struct KeyCache {
    private static let size = 64
    private static let worthwhile = 200
    private var known: [String] = []
    private var places: [UnsafeBufferPointer<UInt8>] = []

    init(tokens: Int) {
        guard tokens >= Self.worthwhile else { return }
        known = Array(repeating: "", count: Self.size)
        places = Array(repeating: .init(start: nil, count: 0), count: Self.size)
    }

    mutating func string(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        guard !known.isEmpty, let first = bytes.first else { return String(decoding: bytes, as: UTF8.self) }
        let slot =
            Int(first &* 7 ^ bytes[bytes.count - 1] ^ UInt8(truncatingIfNeeded: bytes.count &* 11)) & (Self.size - 1)
        if SWAR.areEqual(places[slot], bytes) { return known[slot] }
        known[slot] = String(decoding: bytes, as: UTF8.self)
        places[slot] = bytes
        return known[slot]
    }
}
