import AdapterKit

/// A value to a document of a shape.
struct ShapedXMLWriter {
    let document: ShapedXML
    let options: WritingOptions
    private var depth = 0

    init(document: ShapedXML, options: WritingOptions) {
        (self.document, self.options) = (document, options)
    }

    private var textEscaping: XMLEscaping { options.xml.isCanonical ? .canonicalText : .text }

    mutating func writeDocument(_ value: WireValue, to output: inout OutputBuffer) throws(WireFormatError) {
        if !options.xml.isCanonical { output.append("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n") }
        output.append(UInt8(ascii: "<"))
        output.append(utf8: document.root.text)
        if !document.namespace.isEmpty {
            output.append(" xmlns=\"")
            try output.appendXML(document.namespace, options.xml.isCanonical ? .canonicalAttribute : .attribute)
            output.append(UInt8(ascii: "\""))
        }
        output.append(UInt8(ascii: ">"))
        try writeContent(value, document.shape, to: &output)
        close(document.root.text, to: &output)
    }

    /// What stands between the tags of an element.
    private mutating func writeContent(
        _ value: WireValue, _ shape: Shape, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        guard depth < options.depth else { throw .tooDeep(options.depth) }
        depth += 1
        defer { depth -= 1 }
        switch (shape, value) {
        case (.object(let object), .dictionary(let members)): try write(members, object, to: &output)
        case (.list(let element), .array(let items)):
            for item in items { try writeElement("item", item, element, to: &output) }
        case (.any, .dictionary(let members)):
            try write(members, ObjectShape("any", isOpen: true, members: []), to: &output)
        case (.any, .array(let items)):
            for item in items { try writeElement("item", item, .any, to: &output) }
        default: try writeText(value, shape, to: &output)
        }
    }

    private mutating func write(
        _ members: WireDictionary, _ object: ObjectShape, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        for member in object.members {
            guard let value = members[member.name.text], !value.isNull else { continue }
            try writeMember(member.name.text, value, member.shape, document.wrappedLists[member.name], to: &output)
        }
        for entry in members where object.member(entry.key) == nil {
            guard object.isOpen, let name = XMLElementName(entry.key) else {
                throw WireFormatError(.notRepresentable, "a member that the document's shape does not have")
            }
            if !entry.value.isNull { try writeMember(name.text, entry.value, .any, nil, to: &output) }
        }
    }

    private mutating func writeMember(
        _ name: String, _ value: WireValue, _ shape: Shape, _ itemName: XMLElementName?, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        guard case .array(let items) = value, let element = shape.listElement else {
            return try writeElement(name, value, shape, to: &output)
        }
        if itemName != nil { open(name, to: &output) }
        for item in items { try writeElement(itemName?.text ?? name, item, element, to: &output) }
        if itemName != nil { close(name, to: &output) }
    }

    private mutating func writeElement(
        _ name: String, _ value: WireValue, _ shape: Shape, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        open(name, to: &output)
        try writeContent(value, shape, to: &output)
        close(name, to: &output)
    }

    private func open(_ name: String, to output: inout OutputBuffer) {
        output.append(UInt8(ascii: "<"))
        output.append(utf8: name)
        output.append(UInt8(ascii: ">"))
    }

    private func close(_ name: String, to output: inout OutputBuffer) {
        output.append("</")
        output.append(utf8: name)
        output.append(UInt8(ascii: ">"))
    }

    private func writeText(
        _ value: WireValue, _ shape: Shape, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        guard let text = ShapedXMLText.text(of: value, shape) else {
            throw WireFormatError(.notRepresentable, "a value is not of the document's shape")
        }
        try output.appendXML(text, textEscaping)
    }
}

extension Shape {
    /// What a list's items are; any value's are any values.
    var listElement: Shape? {
        switch self {
        case .list(let element): element
        case .any: .any
        default: nil
        }
    }
}
