extension OutputBuffer {
    /// A seeded hash by folded multiplication of the bytes from `start` to the end.
    func hash(from start: Int, seed: UInt64) -> UInt32 {
        let bytes = UnsafeRawBufferPointer(start: base + start, count: used - start)
        var state = seed ^ UInt64(bytes.count)
        var position = 0
        if bytes.count >= 32 { (state, position) = Self.hashBlocks(bytes, state) }
        while position + 8 <= bytes.count {
            state = Self.fold(state ^ bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            position += 8
        }
        var rest: UInt64 = 0
        while position < bytes.count {
            rest = rest &<< 8 | UInt64(bytes[position])
            position += 1
        }
        state = Self.fold(Self.fold(state ^ rest) ^ seed)
        return UInt32(truncatingIfNeeded: state ^ state &>> 32)
    }

    /// Whole blocks of 32 bytes, two products at a time that do not wait for each other. Each word is mixed with
    /// the secret state before it is multiplied, so that no word can be chosen to make a product zero.
    private static func hashBlocks(_ bytes: UnsafeRawBufferPointer, _ start: UInt64) -> (UInt64, end: Int) {
        var (one, other) = (start, fold(start))
        let second = ~start
        var position = 0
        while position + 32 <= bytes.count {
            one = fold(word(bytes, position) ^ one, word(bytes, position + 8) ^ second)
            other = fold(word(bytes, position + 16) ^ other, word(bytes, position + 24) ^ second)
            position += 32
        }
        return (one ^ fold(other), position)
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ position: Int) -> UInt64 {
        bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
    }

    @inline(__always)
    private static func fold(_ value: UInt64, _ factor: UInt64 = 0x9E37_79B9_7F4A_7C15) -> UInt64 {
        let product = value.multipliedFullWidth(by: factor)
        return product.high ^ product.low
    }

    /// Whether the bytes from `start` to the end repeat those in `range`.
    func endsWithCopy(of range: Range<Int>, from start: Int) -> Bool {
        guard range.count == used - start else { return false }
        return SWAR.areEqual(
            UnsafeBufferPointer(start: base + range.lowerBound, count: range.count),
            UnsafeBufferPointer(start: base + start, count: range.count))
    }

    mutating func removeBytes(from start: Int) {
        precondition(start <= used)
        used = start
    }
}
