extension CSDLElement {
    private static let xmlNamespace = "http://www.w3.org/XML/1998/namespace"

    /// The document as XML text, two spaces a level, with the prefix `edmx` for the wrapper's elements and none for the
    /// schema's.
    public var xmlText: String {
        var text = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
        write(to: &text, indent: "", inherited: nil)
        return text
    }

    private func write(to output: inout String, indent: String, inherited: String?) {
        let isWrapper = namespace == CSDLNamespace.edmx
        let tag = isWrapper ? "edmx:\(name)" : name
        output += "\(indent)<\(tag)"
        if isWrapper && indent.isEmpty { output += " xmlns:edmx=\"\(CSDLNamespace.edmx)\"" }
        if !isWrapper && inherited != namespace { output += " xmlns=\"\(Self.escaped(namespace))\"" }
        for attribute in attributes where attribute.name != Self.legacyType { Self.write(attribute, to: &output) }
        guard !children.isEmpty || !text.isEmpty else {
            output += "/>\n"
            return
        }
        output += ">\(Self.escaped(text))"
        if !children.isEmpty {
            output += "\n"
            for child in children {
                child.write(to: &output, indent: indent + "  ", inherited: isWrapper ? inherited : namespace)
            }
            output += indent
        }
        output += "</\(tag)>\n"
    }

    private static func write(_ attribute: Attribute, to output: inout String) {
        guard attribute.name.hasPrefix("{"), let end = attribute.name.lastIndex(of: "}") else {
            output += " \(attribute.name)=\"\(escaped(attribute.value))\""
            return
        }
        let namespace = String(attribute.name[..<end].dropFirst())
        let local = attribute.name[attribute.name.index(after: end)...]
        if namespace == xmlNamespace {
            output += " xml:\(local)=\"\(escaped(attribute.value))\""
        } else {
            // One declaration for each such attribute; nearly no document has any.
            output +=
                " xmlns:\(local)-ns=\"\(escaped(namespace))\" \(local)-ns:\(local)=\"\(escaped(attribute.value))\""
        }
    }

    private static func escaped(_ text: String) -> String {
        var output = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            case "\t", "\n", "\r": output += "&#\(scalar.value);"
            default: output.unicodeScalars.append(scalar)
            }
        }
        return output
    }
}
