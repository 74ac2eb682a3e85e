import AdapterKit

/// A document that every wire format carries: a property list whose root is a dictionary.
///
/// Checked when it is published, so that the operator gets the error, not each reader.
struct FeedContent: Equatable {
    static let maximumDepth = 100
    static let maximumValues = 1_000_000

    let document: WireDictionary

    /// Throws `request.invalid` with the path of what cannot be carried: `content.verses[3][1]`.
    init(_ value: WireValue) throws(PorticoError) {
        guard let document = value.dictionaryValue else {
            throw FeedContentError("must be a dictionary, the root of a property list").error
        }
        var check = ContentCheck()
        do {
            try check.visit(value, depth: 1)
        } catch {
            throw error.error
        }
        self.document = document
    }
}

extension FeedContent {
    /// Whether a document says the same, whatever the order of its keys: many systems write them in another one each time.
    func hasContent(of other: WireDictionary) -> Bool {
        WireValue.dictionary(document).hasContent(of: .dictionary(other))
    }
}

extension WireValue {
    /// The depth of both was limited when they were read.
    fileprivate func hasContent(of other: WireValue) -> Bool {
        switch (self, other) {
        case (.dictionary(let left), .dictionary(let right)):
            left.count == right.count
                && left.allSatisfy { entry in right[entry.key].map { entry.value.hasContent(of: $0) } ?? false }
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.hasContent(of: $1) }
        default: self == other
        }
    }
}

/// A value that a document cannot hold, and its place; the path is put together on the way out.
struct FeedContentError: Error {
    private let reason: String
    private var path: [String] = []

    init(_ reason: String) {
        self.reason = reason
    }

    func below(_ part: String) -> FeedContentError {
        var moved = self
        moved.path.append(part)
        return moved
    }

    var error: PorticoError {
        let target = "content" + path.reversed().joined()
        return PorticoError(.requestInvalid, "\(target) \(reason).", target: target)
    }
}

private struct ContentCheck {
    private var values = 0

    mutating func visit(_ value: WireValue, depth: Int) throws(FeedContentError) {
        values += 1
        guard values <= FeedContent.maximumValues else {
            throw FeedContentError("has more than \(FeedContent.maximumValues) values")
        }
        guard depth <= FeedContent.maximumDepth else {
            throw FeedContentError("is nested deeper than \(FeedContent.maximumDepth)")
        }
        switch value {
        case .dictionary(let members): try visit(members, depth: depth)
        case .array(let items): try visit(items, depth: depth)
        default: try Self.checkLeaf(value)
        }
    }

    private mutating func visit(_ members: WireDictionary, depth: Int) throws(FeedContentError) {
        for entry in members {
            do {
                try Self.check(entry.key)
                try visit(entry.value, depth: depth + 1)
            } catch {
                throw error.below(".\(entry.key)")
            }
        }
    }

    private mutating func visit(_ items: [WireValue], depth: Int) throws(FeedContentError) {
        for (position, item) in items.enumerated() {
            do {
                try visit(item, depth: depth + 1)
            } catch {
                throw error.below("[\(position)]")
            }
        }
    }

    private static func checkLeaf(_ value: WireValue) throws(FeedContentError) {
        switch value {
        case .null: throw FeedContentError("is null, which property lists do not have; leave it out")
        case .decimal: throw FeedContentError("is a number with more digits than property lists carry")
        case .uid: throw FeedContentError("is a keyed archiver's reference, which only binary property lists have")
        case .double(let number) where !number.isFinite: throw FeedContentError("is a number that JSON does not have")
        case .date(let instant) where !instant.isFinite:
            throw FeedContentError("is no instant")
        case .string(let text): try check(text)
        default: return
        }
    }

    /// XML 1.0, section 2.2: no control characters but tab, line feed and carriage return, no U+FFFE and U+FFFF.
    private static func check(_ text: String) throws(FeedContentError) {
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x9, 0xA, 0xD, 0x20...0xFFFD, 0x1_0000...: continue
            default: throw FeedContentError("holds a character that XML does not have")
            }
        }
    }
}
