import ValueTree

/// The keys of a dictionary in a binary property list, kept for the next one that refers to the same.
struct DictionaryShape {
    var keys: [String] = []
    var areDistinct = true
    /// What the keys count against the limit.
    var expandedBytes = 0
    /// Where the references to the keys are.
    var references = 0

    /// Whether the references at `offset` are the ones of this shape, bit by bit.
    func hasSameReferences(_ offset: Int, _ size: Int, _ input: [UInt8]) -> Bool {
        input.withUnsafeBufferPointer { input in
            SWAR.areEqual(
                UnsafeBufferPointer(rebasing: input[references..<references + size]),
                UnsafeBufferPointer(rebasing: input[offset..<offset + size]))
        }
    }

    /// Few keys are compared with each other, many are hashed.
    static func areDistinct(_ keys: [String]) -> Bool {
        guard keys.count <= KeySet.pairwise else {
            return Set(keys.map { Array($0.utf8) }).count == keys.count
        }
        for later in keys.indices.dropFirst() {
            for earlier in 0..<later where keys[earlier].hasSameBytes(as: keys[later]) { return false }
        }
        return true
    }
}
