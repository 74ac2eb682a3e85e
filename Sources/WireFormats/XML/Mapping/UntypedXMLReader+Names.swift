extension UntypedXMLReader {
    mutating func key(ofElement name: XMLName, in parent: Int32, _ text: Span<UInt8>) -> TapeToken {
        let local = name.localRange
        guard name.namespace != parent else {
            return TapeToken(.key, offset: local.lowerBound, length: local.count)
        }
        return builder.aside(.key, expanded(name, text))
    }

    mutating func key(ofAttribute name: XMLName, _ text: Span<UInt8>) -> TapeToken {
        let mark = [UInt8(ascii: "@")]
        switch name.namespace {
        case XMLNamespaces.none: return builder.aside(.key, mark + Array(copying: text, name.range))
        case XMLNamespaces.xml: return builder.aside(.key, Array("@xml:".utf8) + Array(copying: text, name.localRange))
        default: return builder.aside(.key, mark + expanded(name, text))
        }
    }

    private func expanded(_ name: XMLName, _ text: Span<UInt8>) -> [UInt8] {
        [UInt8(ascii: "{")] + scanner.namespaces.name(name.namespace) + [UInt8(ascii: "}")]
            + Array(copying: text, name.localRange)
    }
}
