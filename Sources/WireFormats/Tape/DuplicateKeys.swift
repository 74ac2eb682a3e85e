/// Finds equal keys in dictionaries of a tape under construction, and drops the earlier ones if asked to.
///
/// The records of a list have the same keys in the same order. So the last dictionary of each size that was found to
/// be in order is remembered, and one with the very same keys is in order too: that takes one comparison for each key
/// instead of one for each pair.
struct DuplicateKeys: ~Copyable {
    /// Dictionaries (by the position of their first token) in which a key occurs twice.
    private(set) var found: Set<Int> = []
    private var keys = KeySet()
    /// Positions of dictionaries without equal keys, by the low bits of their number of members; 0 for none, which
    /// costs no more than that a dictionary at the top is not remembered.
    private var shapes = SIMD8<Int>(repeating: 0)

    mutating func check(_ tokens: borrowing TokenBuffer, dictionary: Int, input: [UInt8], side: [UInt8]) -> Bool {
        let isUnique = tokens.withUnsafeBufferPointer { tokens in
            check(tokens, dictionary, input, side)
        }
        if !isUnique { found.insert(dictionary) }
        return isUnique
    }

    private mutating func check(
        _ tokens: UnsafeBufferPointer<TapeToken>, _ dictionary: Int, _ input: [UInt8], _ side: [UInt8]
    ) -> Bool {
        let slot = tokens[dictionary].memberCount & 7
        let known = shapes[slot]
        if known > 0, Self.haveSameKeys(tokens, known, dictionary, input) { return true }
        let isUnique =
            tokens[dictionary].memberCount <= KeySet.pairwise
            ? Self.areDistinct(few: tokens, dictionary, input, side) : areDistinct(tokens, dictionary, input, side)
        if isUnique { shapes[slot] = dictionary }
        return isUnique
    }

    private mutating func areDistinct(
        _ tokens: UnsafeBufferPointer<TapeToken>, _ dictionary: Int, _ input: [UInt8], _ side: [UInt8]
    ) -> Bool {
        keys.removeAll()
        var position = dictionary + 1
        while tokens[position].kind == .key {
            keys.append(tokens[position])
            position = Self.next(tokens, position)
        }
        return keys.areDistinct(input: input, side: side)
    }

    /// The same on the stack.
    private static func areDistinct(
        few tokens: UnsafeBufferPointer<TapeToken>, _ dictionary: Int, _ input: [UInt8], _ side: [UInt8]
    ) -> Bool {
        withUnsafeTemporaryAllocation(of: TapeToken.self, capacity: KeySet.pairwise) { keys in
            var (position, count) = (dictionary + 1, 0)
            while tokens[position].kind == .key {
                keys.initializeElement(at: count, to: tokens[position])
                count += 1
                position = next(tokens, position)
            }
            return KeySet.areDistinct(few: UnsafeBufferPointer(rebasing: keys[..<count]), input, side)
        }
    }

    /// To be called where tokens were removed.
    mutating func forgetShapes() { shapes = SIMD8(repeating: 0) }

    private static func haveSameKeys(
        _ tokens: UnsafeBufferPointer<TapeToken>, _ known: Int, _ dictionary: Int, _ input: [UInt8]
    ) -> Bool {
        input.withUnsafeBufferPointer { input in
            var (left, right) = (known + 1, dictionary + 1)
            while tokens[left].kind == .key {
                guard tokens[left].isSameKey(as: tokens[right], in: input) else { return false }
                (left, right) = (next(tokens, left), next(tokens, right))
            }
            return tokens[right].kind == .end
        }
    }

    /// The key after the one at `position`, or the end.
    @inline(__always)
    private static func next(_ tokens: UnsafeBufferPointer<TapeToken>, _ position: Int) -> Int {
        let value = tokens[position + 1]
        return position + 2 + (value.isContainer ? value.length : 0)
    }

    /// The tape without the dropped members: one pass, however deeply duplicates are nested.
    consuming func resolve(_ tape: Tape) -> Tape {
        DuplicateRewriter(source: tape, ambiguous: found).rewrite()
    }
}

extension TapeToken {
    /// Whether both are keys in the input, as they are, with the same bytes.
    @inline(__always)
    fileprivate func isSameKey(as other: TapeToken, in input: UnsafeBufferPointer<UInt8>) -> Bool {
        guard head == other.head, storage == .input else { return false }
        return SWAR.areEqual(
            UnsafeBufferPointer(rebasing: input[offset..<offset &+ length]),
            UnsafeBufferPointer(rebasing: input[other.offset..<other.offset &+ length]))
    }
}
