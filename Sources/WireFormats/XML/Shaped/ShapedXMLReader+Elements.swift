/// From element to element, and what is told of those that the shape does not have.
extension ShapedXMLReader {
    /// The local name of the next element inside of the current one; nil at its end. An element in another namespace is
    /// reported and skipped.
    mutating func nextElement(_ text: Span<UInt8>) throws(WireFormatError) -> String? {
        while true {
            switch try scanner.next(text) {
            case .endElement, .endDocument: return nil
            case .startElement:
                if scanner.name.namespace == namespace { return localName(text) }
                try skipUnknown(String(decoding: Array(copying: text, scanner.name.range), as: UTF8.self), text)
            case .text where XMLText.isSpace(scanner.content, text): break
            case .text, .cdata: throw malformed("text between elements", text)
            case .comment, .processingInstruction: break
            }
        }
    }

    mutating func skipUnknown(_ name: String, _ text: Span<UInt8>) throws(WireFormatError) {
        report(name, at: scanner.eventStart, text)
        let depth = scanner.depth
        while scanner.depth >= depth { _ = try scanner.next(text) }
    }

    /// What describes the document itself is expected everywhere: `xsi:schemaLocation`, `xml:lang`.
    mutating func reportAttributes(_ text: Span<UInt8>) {
        for attribute in scanner.attributes {
            let namespace = scanner.namespaces.name(attribute.name.namespace)
            if attribute.name.namespace == XMLNamespaces.xml
                || namespace.elementsEqual("http://www.w3.org/2001/XMLSchema-instance".utf8)
            {
                continue
            }
            let name = String(decoding: Array(copying: text, attribute.name.range), as: UTF8.self)
            report("@" + name, at: attribute.name.offset, text)
        }
    }

    mutating func report(_ name: String, at offset: Int, _ text: Span<UInt8>) {
        guard unknown.count < ShapedXML.reportedUnknowns else { return }
        unknown.append(
            .init(path: (path + [name]).joined(separator: "/"), position: .init(offset: offset, in: text)))
    }

    func localName(_ text: Span<UInt8>) -> String {
        String(decoding: Array(copying: text, scanner.name.localRange), as: UTF8.self)
    }

    func malformed(_ message: String, _ text: Span<UInt8>) -> WireFormatError {
        WireFormatError(.malformed, message, at: .init(offset: scanner.eventStart, in: text))
    }
}
