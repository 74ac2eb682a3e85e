import ValueTree

/// What a decimal becomes in a property list, which has integers of 64 bits and doubles: an integer or a real where one
/// is the same number, otherwise the string of its digits. A reader that knows the declared type takes the string for a
/// decimal.
enum PropertyListNumber {
    case int64(Int64)
    case uint64(UInt64)
    case double(Double)
    case text(String)

    init(_ number: WireDecimal, largeIntegers: WritingOptions.LargeIntegerPolicy) throws(WireFormatError) {
        switch number.narrowed {
        case .int64(let number): self = .int64(number)
        case .uint64(let number): self = .uint64(number)
        case .double(let number): self = .double(number)
        default:
            guard largeIntegers == .text || !number.isInteger else {
                throw WireFormatError(.notRepresentable, "a property list cannot carry an integer beyond 64 bits")
            }
            self = .text(number.description)
        }
    }
}
