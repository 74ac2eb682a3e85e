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
}
