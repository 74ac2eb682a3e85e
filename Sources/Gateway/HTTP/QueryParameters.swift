import AdapterKit

extension RequestTarget {
    /// A number of the query; nil where it is left out. Throws `request.invalid` naming the parameter for what is no number of
    /// `range`.
    func number<Number: FixedWidthInteger & Sendable>(
        _ name: String, in range: ClosedRange<Number>
    ) throws(PorticoError) -> Number? {
        guard let text = self[name] else { return nil }
        guard let number = Number(text), range.contains(number) else {
            let end = range.upperBound == .max ? "on" : "to \(range.upperBound)"
            throw PorticoError(.requestInvalid, "\(name) is a number from \(range.lowerBound) \(end).", target: name)
        }
        return number
    }

    /// Whether the query has `name=true`; false where it is left out or `false`. Throws `request.invalid` naming the parameter for
    /// any other word.
    func flag(_ name: String) throws(PorticoError) -> Bool {
        switch self[name] {
        case "true": return true
        case nil, "false": return false
        default: throw PorticoError(.requestInvalid, "\(name) is true or false.", target: name)
        }
    }
}
