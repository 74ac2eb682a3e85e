import AdapterKit

/// A place in a document: a JSON Pointer (RFC 6901) with `*` for every item of a list.
///
/// In a property list the tokens are keys. In XML they are names of elements, whatever their namespace; `@name` is an
/// attribute and an element that stands once is its own list of one.
struct DocumentPath: Sendable, Equatable, CustomStringConvertible {
    static let maximumLength = 1_024
    static let maximumTokens = 32

    let tokens: [String]

    static let root = DocumentPath(tokens: [])

    init(tokens: [String]) { self.tokens = tokens }

    /// Nil for a text that is no pointer.
    init?(_ text: String) {
        guard text.utf8.count <= Self.maximumLength, text.isEmpty || text.hasPrefix("/") else { return nil }
        var tokens: [String] = []
        for piece in text.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            guard let token = Self.unescaped(piece) else { return nil }
            tokens.append(token)
        }
        guard tokens.count <= Self.maximumTokens else { return nil }
        self.tokens = tokens
    }

    private static func unescaped(_ piece: Substring) -> String? {
        var text = ""
        var rest = piece[...]
        while let tilde = rest.firstIndex(of: "~") {
            text += rest[..<tilde]
            switch rest[rest.index(after: tilde)...].first {
            case "0": text += "~"
            case "1": text += "/"
            default: return nil
            }
            rest = rest[tilde...].dropFirst(2)
        }
        return text + rest
    }

    var description: String {
        tokens.map { "/" + $0.replacing("~", with: "~0").replacing("/", with: "~1") }.joined()
    }

    /// The value at the path; nil: there is none. With `*` an array of what every item has there.
    func value(in document: WireValue, isXML: Bool = false) -> WireValue? {
        Self.value(tokens[...], in: document, isXML: isXML)
    }

    private static func value(_ tokens: ArraySlice<String>, in value: WireValue, isXML: Bool) -> WireValue? {
        guard let token = tokens.first else { return value }
        let rest = tokens.dropFirst()
        if token == "*" {
            let items = value.arrayValue ?? (isXML ? [value] : nil)
            return items.map { .array($0.compactMap { Self.value(rest, in: $0, isXML: isXML) }) }
        }
        switch value {
        case .array(let items):
            guard let index = Self.index(token), items.indices.contains(index) else { return nil }
            return Self.value(rest, in: items[index], isXML: isXML)
        case .dictionary(let members):
            guard let found = isXML ? members.child(token) : members[token] else { return nil }
            return Self.value(rest, in: found, isXML: isXML)
        default: return nil
        }
    }

    /// RFC 6901, section 4: no leading zeros.
    private static func index(_ token: String) -> Int? {
        guard token.utf8.count <= 9, token == "0" || token.first != "0",
            token.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 })
        else { return nil }
        return Int(token)
    }
}

extension WireDictionary {
    /// The content of the child elements of a name, as ``XMLFormat`` reads documents of others; several are an array.
    fileprivate func child(_ name: String) -> WireValue? {
        let direct = entries.filter { Self.localName($0.key) == name }.map(\.value)
        if direct.count == 1 { return direct[0] }
        if !direct.isEmpty { return .array(direct.flatMap { $0.arrayValue ?? [$0] }) }
        // Elements that do not follow each other stand in `$`, in their order.
        guard let ordered = self["$"]?.arrayValue else { return nil }
        let found = ordered.compactMap { item in
            item.dictionaryValue?.entries.first { Self.localName($0.key) == name }?.value
        }
        return found.isEmpty ? nil : found.count == 1 ? found[0] : .array(found)
    }

    private static func localName(_ key: String) -> Substring {
        let isAttribute = key.hasPrefix("@")
        let name = isAttribute ? key.dropFirst() : key[...]
        guard name.hasPrefix("{"), let end = name.firstIndex(of: "}") else { return key[...] }
        let local = name[name.index(after: end)...]
        return isAttribute ? Substring("@" + local) : local
    }
}
