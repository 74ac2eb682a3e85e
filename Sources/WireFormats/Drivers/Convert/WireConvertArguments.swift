import WireFormats

struct WireConvertArguments {
    private var from: (any WireFormat)?
    private var to: (any WireFormat)?
    private var maximumDepth = 512
    private var maximumBytes = Conversion.defaultMaximumBytes

    /// Nil where they make no sense.
    init?(_ arguments: ArraySlice<String>) {
        var rest = arguments
        while let flag = rest.popFirst() {
            guard let value = rest.popFirst(), take(flag, value) else { return nil }
        }
        guard from != nil else { return nil }
    }

    var conversion: Conversion {
        guard let from else { preconditionFailure("checked by init") }
        return Conversion(from: from, to: to, maximumDepth: maximumDepth, maximumBytes: maximumBytes)
    }

    private mutating func take(_ flag: String, _ value: String) -> Bool {
        switch flag {
        case "--from": from = format(value)
        case "--to": to = format(value)
        case "--max-depth":
            guard let number = Int(value), number > 0 else { return false }
            maximumDepth = number
            return true
        case "--max-bytes":
            guard let number = Int(value), number > 0 else { return false }
            maximumBytes = number
            return true
        default: return false
        }
        return format(value) != nil
    }

    private func format(_ name: String) -> (any WireFormat)? {
        FormatName(name).flatMap { FormatCatalogue.conversion[$0] }
    }
}
