/// The distinct scalars written so far, found again by their encoded bytes: an open hash table of object numbers, with
/// the bytes themselves in the output.
struct ScalarTable {
    private struct Scalar {
        /// Where it starts in the output.
        var offset: UInt32
        var hash: UInt32
    }

    private var scalars: [Scalar] = []
    /// Object numbers plus one, 0 for free; at most half full.
    private var slots = [UInt32](repeating: 0, count: 64)
    /// Chosen anew for each document, so that nobody can prepare strings that collide.
    private let seed = UInt64.random(in: .min ... .max)
    private var end = 0
    /// The output grew beyond what offsets can name; nothing was remembered any more.
    private(set) var isTooLong = false

    init() {
        scalars.reserveCapacity(slots.count / 2)
    }

    var count: Int { scalars.count }

    func offset(of number: Int) -> Int { Int(scalars[number].offset) }

    /// Where scalar `number` lies in the output.
    private func range(of number: Int) -> Range<Int> {
        offset(of: number)..<(number + 1 < scalars.count ? offset(of: number + 1) : end)
    }

    mutating func intern(from start: Int, _ output: inout OutputBuffer) -> ObjectReference {
        guard output.count <= UInt32.max else {
            isTooLong = true
            return .scalar(0)
        }
        let hash = output.hash(from: start, seed: seed)
        var slot = Int(hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let number = Int(slots[slot]) - 1
            if scalars[number].hash == hash, output.endsWithCopy(of: range(of: number), from: start) {
                output.removeBytes(from: start)
                return .scalar(number)
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        return insert(hash, slot, start, output.count)
    }

    private mutating func insert(_ hash: UInt32, _ slot: Int, _ start: Int, _ end: Int) -> ObjectReference {
        scalars.append(Scalar(offset: UInt32(truncatingIfNeeded: start), hash: hash))
        self.end = end
        slots[slot] = UInt32(truncatingIfNeeded: scalars.count)
        if scalars.count * 2 > slots.count { grow() }
        return .scalar(scalars.count - 1)
    }

    private mutating func grow() {
        slots = [UInt32](repeating: 0, count: slots.count * 2)
        for number in scalars.indices {
            var slot = Int(scalars[number].hash) & (slots.count - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = UInt32(truncatingIfNeeded: number + 1)
        }
    }
}

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
