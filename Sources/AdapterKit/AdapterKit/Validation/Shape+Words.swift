// What people read about a shape, in messages that continue "must be".

extension Shape {
    var words: String {
        switch self {
        case .any: "a value"
        case .bool: "true or false"
        case .integer(let limits): limits.words
        case .double: "a number"
        case .decimal(let scale): scale.map { "a decimal number with at most \($0) places" } ?? "a decimal number"
        case .string(let limits): limits.words
        case .choice(let texts): "one of \(texts.joined(separator: ", "))"
        case .date: "a date"
        case .data: "bytes"
        case .list: "a list"
        case .object: "a dictionary"
        }
    }
}

extension IntegerRange {
    var words: String {
        switch (range.lowerBound, range.upperBound) {
        case (.min, .max): "an integer"
        case (let least, .max): "an integer from \(least) on"
        case (.min, let most): "an integer up to \(most)"
        case (let least, let most): "an integer from \(least) to \(most)"
        }
    }
}

extension TextLimits {
    var words: String {
        minimumLength == 0
            ? "a text of at most \(maximumLength) characters"
            : "a text of \(minimumLength) to \(maximumLength) characters"
    }

    /// The bytes decide where they can, since counting scalars walks the text: a scalar has one to four of them.
    func allow(_ text: String) -> Bool {
        let bytes = text.utf8.count
        if bytes <= maximumLength, bytes >= 4 * minimumLength { return true }
        return (minimumLength...maximumLength).contains(text.unicodeScalars.count)
    }
}
