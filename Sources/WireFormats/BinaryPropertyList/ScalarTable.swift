/// The distinct scalars written so far, found again by their encoded bytes: an open hash table of object numbers, with
/// the bytes themselves in the output.
struct ScalarTable {
    private struct Scalar {
        /// Where it starts in the output.
        var offset: UInt32
        var hash: UInt32
    }

    private var scalars: [Scalar] = []
    /// Object numbers plus one, 0 for free; at most half full. Empty while there are few scalars: those are compared one
    /// by one.
    private var slots: [UInt32] = []
    private static let few = 24
    /// Chosen anew for each document, so that nobody can prepare strings that collide.
    private let seed = UInt64.random(in: .min ... .max)
    private var end = 0
    /// The output grew beyond what offsets can name; nothing was remembered any more.
    private(set) var isTooLong = false

    init() {
        scalars.reserveCapacity(Self.few)
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
        let (known, slot) = slots.isEmpty ? (findAmongFew(hash, start, output), 0) : find(hash, start, output)
        if let known {
            output.removeBytes(from: start)
            return .scalar(known)
        }
        return insert(hash, slot, start, output.count)
    }

    private func findAmongFew(_ hash: UInt32, _ start: Int, _ output: borrowing OutputBuffer) -> Int? {
        for number in scalars.indices where scalars[number].hash == hash {
            if output.endsWithCopy(of: range(of: number), from: start) { return number }
        }
        return nil
    }

    /// The number of an equal scalar, or the slot for a new one.
    private func find(_ hash: UInt32, _ start: Int, _ output: borrowing OutputBuffer) -> (number: Int?, slot: Int) {
        var slot = Int(hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let number = Int(slots[slot]) - 1
            if scalars[number].hash == hash, output.endsWithCopy(of: range(of: number), from: start) {
                return (number, slot)
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        return (nil, slot)
    }

    private mutating func insert(_ hash: UInt32, _ slot: Int, _ start: Int, _ end: Int) -> ObjectReference {
        scalars.append(Scalar(offset: UInt32(truncatingIfNeeded: start), hash: hash))
        self.end = end
        if !slots.isEmpty { slots[slot] = UInt32(truncatingIfNeeded: scalars.count) }
        if scalars.count * 2 > slots.count, scalars.count >= Self.few { grow() }
        return .scalar(scalars.count - 1)
    }

    private mutating func grow() {
        slots = [UInt32](repeating: 0, count: max(slots.count * 2, 64))
        for number in scalars.indices {
            var slot = Int(scalars[number].hash) & (slots.count - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = UInt32(truncatingIfNeeded: number + 1)
        }
    }
}
