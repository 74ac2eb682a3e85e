extension Shape {
    /// Throws `request.invalid` where the value is not of this shape, with the path of the part at fault as its target
    /// (`employees[3].email`); `path` is where the value itself stands, empty for the whole input.
    ///
    /// Values are typed already (a date is a date); only integers pass for doubles, and every finite number for a
    /// decimal. Texts that spell other values are the gateway's business, before this. Whatever the shape, a value that
    /// some wire format cannot carry is refused, so that a caller of another format is never refused because of it.
    public func check(_ value: WireValue, at path: String = "") throws(PorticoError) {
        do {
            try validate(value)
        } catch {
            throw error.asError(at: path)
        }
    }

    func validate(_ value: WireValue) throws(Violation) {
        switch (self, value) {
        case (.any, _): try value.validateRepresentable()
        case (.bool, .bool): return
        case (.integer(let limits), _): try limits.validate(value)
        case (.double, _): try Self.examineDouble(value)
        case (.decimal(let scale), _): try Self.examineDecimal(value, scale: scale)
        case (.string(let limits), .string(let text)): try limits.validate(text)
        case (.choice(let choices), .string(let text)): try Self.validate(text, isOneOf: choices)
        case (.date, .date(let instant)): try instant.validateRepresentable()
        case (.data(let maximum), .data(let bytes)):
            if bytes.count > maximum { throw Violation("must hold at most \(maximum) bytes") }
        case (.list(let element), .array(let items)): try Self.validate(items, areAll: element)
        case (.object(let shape), .dictionary(let members)): try shape.validate(members)
        default: throw Violation("must be \(words)")
        }
    }

    private static func validate(_ text: String, isOneOf choices: [String]) throws(Violation) {
        guard choices.contains(where: { $0.hasSameBytes(as: text) }) else {
            throw Violation("must be one of \(choices.joined(separator: ", "))")
        }
    }

    private static func validate(_ items: [WireValue], areAll element: Shape) throws(Violation) {
        for (position, item) in items.enumerated() {
            do { try element.validate(item) } catch { throw error.below(position) }
        }
    }
}

extension IntegerRange {
    func validate(_ value: WireValue) throws(Violation) {
        guard let number = value.int64Value, range.contains(number) else { throw Violation("must be \(words)") }
    }
}

extension TextLimits {
    func validate(_ text: String) throws(Violation) {
        if !allow(text) { throw Violation("must be \(words)") }
        try text.validateRepresentable()
    }
}

extension Shape {
    static func examineDouble(_ value: WireValue) throws(Violation) {
        switch value {
        case .double(let number):
            // SQLite and PostgreSQL disagree on what a NaN is, and JSON has neither that nor infinities.
            if !number.isFinite { throw Violation("must be a finite number") }
        case .int64, .uint64, .decimal:
            if value.exactDouble == nil { throw Violation("has more digits than a double carries") }
        default: throw Violation("must be a number")
        }
    }

    static func examineDecimal(_ value: WireValue, scale: Int?) throws(Violation) {
        guard let number = value.decimalValue else { throw Violation("must be a finite number") }
        try number.validateRepresentable()
        if let scale, -number.exponent > scale { throw Violation("must have at most \(scale) digits after the point") }
    }
}

extension WireValue {
    /// The number as a double, where a double carries it exactly.
    var exactDouble: Double? {
        if case .decimal(let number) = self { number.exactDouble } else { doubleValue }
    }
}

extension ObjectShape {
    func validate(_ value: WireDictionary) throws(Violation) {
        for member in members {
            guard let sent = value[member.name.text] else {
                if member.isRequired { throw Violation("is missing").below(member.name.text) }
                continue
            }
            if member.isNullable && sent.isNull { continue }
            do { try member.shape.validate(sent) } catch { throw error.below(member.name.text) }
        }
        if isOpen { try examineFurther(value) } else { try refuseUnknown(value) }
    }

    private func refuseUnknown(_ value: WireDictionary) throws(Violation) {
        // Every declared member was looked up already: equal counts of found ones mean that there is no other.
        for entry in value where member(entry.key) == nil {
            throw Violation("is not known here").below(entry.key.replacedForEveryFormat)
        }
    }

    private func examineFurther(_ value: WireDictionary) throws(Violation) {
        if members.isEmpty { return try WireValue.dictionary(value).validateRepresentable() }
        for entry in value where member(entry.key) == nil {
            do {
                try entry.key.validateRepresentable()
                try entry.value.validateRepresentable()
            } catch { throw error.below(entry.key.replacedForEveryFormat) }
        }
    }
}

// What people read about a shape, in messages that continue "must be".

extension Shape {
    /// Words for the demanded value, which continue "must be".
    public var words: String {
        switch self {
        case .any: "a value"
        case .bool: "true or false"
        case .integer(let limits): limits.words
        case .double: "a number"
        case .decimal(let scale): scale.map { "a decimal number with at most \($0) places" } ?? "a decimal number"
        case .string(let limits): limits.words
        case .choice(let texts): "one of \(texts.joined(separator: ", "))"
        case .date: "a date such as 2024-01-15T10:20:30Z"
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
        if bytes <= maximumLength, bytes / 4 >= minimumLength { return true }
        let count = text.unicodeScalars.count
        return count >= minimumLength && count <= maximumLength
    }
}

extension Shape {
    /// The one spelling of a value that passed ``check(_:at:)``, as stores keep it: a double field's number is a double
    /// (never `-0.0`, which SQL databases do not tell from `0.0`), a decimal's is a decimal, an integer fits 64 bits.
    public func canonical(_ value: WireValue) -> WireValue {
        switch self {
        case .integer: value.int64Value.map { .int64($0) } ?? value
        case .double: value.exactDouble.map { .double($0 == 0 ? 0 : $0) } ?? value
        case .decimal: value.decimalValue.map { .decimal($0) } ?? value
        case .list(let element): value.arrayValue.map { .array($0.map(element.canonical)) } ?? value
        case .object(let shape): value.dictionaryValue.map { .dictionary(shape.canonical($0)) } ?? value
        default: value
        }
    }
}

extension ObjectShape {
    func canonical(_ value: WireDictionary) -> WireDictionary {
        var result = value
        for member in members {
            guard let sent = value[member.name.text], !sent.isNull else { continue }
            result[member.name.text] = member.shape.canonical(sent)
        }
        return result
    }
}

/// A mistake in a value, and its place. The path is put together only on the way out, so that a value without faults
/// costs no texts.
struct Violation: Error {
    /// Completes the sentence that begins with the path: `must be an integer`.
    let message: String
    private(set) var path: String = ""

    init(_ message: String) {
        self.message = message
    }

    func below(_ position: Int) -> Violation {
        var outer = self
        outer.path = path.isEmpty || path.hasPrefix("[") ? "[\(position)]\(path)" : "[\(position)].\(path)"
        return outer
    }

    func below(_ member: String) -> Violation {
        var outer = self
        outer.path = path.isEmpty || path.hasPrefix("[") ? member + path : "\(member).\(path)"
        return outer
    }

    func asError(at start: String) -> PorticoError {
        let target = start.isEmpty ? path : below(start).path
        let subject = target.isEmpty ? "The value" : target
        return PorticoError(.requestInvalid, "\(subject) \(message).", target: target.isEmpty ? nil : target)
    }
}
