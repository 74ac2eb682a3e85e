import AdapterKit

/// A document of a shape to a value. Recursion is bounded by the depth that the scanner allows.
struct ShapedXMLReader: ~Copyable {
    let document: ShapedXML
    var scanner: XMLScanner
    var unknown: [ShapedXML.Unknown] = []
    /// The names of the open elements, for reports.
    var path: [String] = []
    /// The namespace of the document's elements.
    var namespace = XMLNamespaces.none

    init(document: ShapedXML, source: XMLSource, limits: ReadingLimits) {
        self.document = document
        scanner = XMLScanner(start: source.start, maximumDepth: limits.depth)
    }

    mutating func readDocument(_ text: Span<UInt8>) throws(WireFormatError) -> ShapedXML.Reading {
        while try scanner.next(text) != .startElement {}
        guard localName(text) == document.root.text,
            scanner.namespaces.name(scanner.name.namespace).elementsEqual(document.namespace.utf8)
        else { throw malformed("the root element is another one than `\(document.root.text)`", text) }
        namespace = scanner.name.namespace
        let value = try readElement(document.root.text, document.shape, text)
        while try scanner.next(text) != .endDocument {}
        return .init(value: value, unknown: unknown)
    }

    /// The element whose start was just met, up to its end.
    private mutating func readElement(
        _ name: String, _ shape: Shape, _ text: Span<UInt8>
    ) throws(WireFormatError) -> WireValue {
        path.append(name)
        defer { path.removeLast() }
        reportAttributes(text)
        switch shape {
        case .object(let object): return .dictionary(try readMembers(object, text))
        case .list(let element): return .array(try readItems(named: "item", element, text))
        default: return try readScalar(shape, text)
        }
    }

    private mutating func readMembers(
        _ object: ObjectShape, _ text: Span<UInt8>
    ) throws(WireFormatError) -> WireDictionary {
        var found: [String: WireValue] = [:]
        while let name = try nextElement(text) {
            guard let member = object.member(name) else {
                try skipUnknown(name, text)
                continue
            }
            let element = member.shape.listElement
            if let element, let item = document.wrappedLists[member.name] {
                path.append(name)
                defer { path.removeLast() }
                try put(.array(try readItems(named: item.text, element, text)), name, into: &found, text)
            } else if case .list(let element) = member.shape {
                let items = found[name]?.arrayValue ?? []
                found[name] = nil
                found[name] = .array(items + [try readElement(name, element, text)])
            } else {
                try put(try readElement(name, member.shape, text), name, into: &found, text)
            }
        }
        return ordered(found, object)
    }

    private func put(
        _ value: WireValue, _ name: String, into found: inout [String: WireValue], _ text: Span<UInt8>
    ) throws(WireFormatError) {
        guard found.updateValue(value, forKey: name) == nil else {
            throw WireFormatError(
                .duplicateKey, "an element occurs twice", at: .init(offset: scanner.eventStart, in: text))
        }
    }

    /// In declared order, with the lists that have no items.
    private func ordered(_ found: [String: WireValue], _ object: ObjectShape) -> WireDictionary {
        var members = WireDictionary()
        for member in object.members {
            if let value = found[member.name.text] {
                members[member.name.text] = value
            } else if case .list = member.shape {
                members[member.name.text] = []
            }
        }
        return members
    }

    private mutating func readItems(
        named item: String, _ element: Shape, _ text: Span<UInt8>
    ) throws(WireFormatError) -> [WireValue] {
        var items: [WireValue] = []
        while let name = try nextElement(text) {
            if name == item { items.append(try readElement(name, element, text)) } else { try skipUnknown(name, text) }
        }
        return items
    }

    private mutating func readScalar(_ shape: Shape, _ text: Span<UInt8>) throws(WireFormatError) -> WireValue {
        let start = scanner.position
        let words = try scanner.takeWholeText(text)
        guard let value = ShapedXMLText.value(of: words, shape) else {
            throw WireFormatError(
                .malformed, "the text of `\(path.joined(separator: "/"))` is not of its type",
                at: .init(offset: start, in: text))
        }
        return value
    }
}
