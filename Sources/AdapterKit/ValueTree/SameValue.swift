extension WireValue {
    /// Whether both stand for one value: numbers of any kind by their value, members of dictionaries in any order.
    public func meansTheSame(as other: WireValue) -> Bool {
        if self == other { return true }
        switch (self, other) {
        // Canonically equivalent texts (Unicode, UAX 15).
        case (.string(let left), .string(let right)): return left == right
        case (.array(let left), .array(let right)):
            return left.count == right.count && zip(left, right).allSatisfy { $0.meansTheSame(as: $1) }
        case (.dictionary(let left), .dictionary(let right)):
            return left.count == right.count
                && left.allSatisfy { entry in right[entry.key].map { entry.value.meansTheSame(as: $0) } ?? false }
        default:
            guard let left = decimalValue, let right = other.decimalValue else { return false }
            return left == right
        }
    }
}
