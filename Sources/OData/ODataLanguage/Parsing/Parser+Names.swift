/// Names and identifiers, section 6 of the ABNF.
extension Parser {
    private static let longestIdentifier = 128

    /// `odataIdentifier`: a letter or `_`, then those, digits and, as they may be encoded, letters of any script.
    mutating func identifier() throws(Mismatch) -> String {
        let start = at
        guard let first = peek(), first.isLetter || first == UInt8(ascii: "_") || first >= 0x80 else {
            throw mismatch("a name")
        }
        while let byte = peek(), byte.isIdentifier { at += 1 }
        guard let name = text(start, at), name.unicodeScalars.count <= Self.longestIdentifier,
            name.unicodeScalars.allSatisfy(\.fitsIdentifier)
        else {
            at = start
            throw mismatch("a name of at most \(Self.longestIdentifier) letters")
        }
        note("a letter", at: at)
        return name
    }

    /// `[ namespace "." ] name`
    mutating func optionallyQualifiedName() throws(Mismatch) -> WrittenName {
        var parts = [try identifier()]
        while peek() == UInt8(ascii: "."), peek(1) != UInt8(ascii: "*") {
            at += 1
            parts.append(try identifier())
        }
        let name = parts.removeLast()
        return WrittenName(parts.isEmpty ? nil : parts.joined(separator: "."), name)
    }

    /// `namespace "." name`
    mutating func qualifiedName() throws(Mismatch) -> WrittenName {
        let name = try optionallyQualifiedName()
        guard name.namespace != nil else { throw mismatch("`.`") }
        return name
    }

    /// `optionallyQualifiedTypeName`
    mutating func typeName(qualified: Bool = false) throws(Mismatch) -> WrittenType {
        let start = at
        if let inside = try attempt({ parser throws(Mismatch) in
            try parser.expect(word: "Collection", ignoringCase: false)
            try parser.expect("(")
            let name = try qualified ? parser.qualifiedName() : parser.optionallyQualifiedName()
            try parser.expect(")")
            return name
        }) {
            return WrittenType(inside, isCollection: true, range: range(from: start))
        }
        let name = try qualified ? qualifiedName() : optionallyQualifiedName()
        return WrittenType(name, isCollection: false, range: range(from: start))
    }

    /// `@Namespace.Term#Qualifier`; inside a URL's query the `#` is encoded.
    mutating func annotationName() throws(Mismatch) -> AnnotationName {
        try expect("@")
        let term = try optionallyQualifiedName()
        let isEncoded = current?.isEncoded == true
        guard peek() == UInt8(ascii: "#"), isEncoded == (source.encoding == .url) else {
            return AnnotationName(term: term, qualifier: nil)
        }
        at += 1
        return AnnotationName(term: term, qualifier: try identifier())
    }
}

extension UInt8 {
    /// Whether it may be inside an identifier; which letters beyond ASCII do is decided on the whole.
    var isIdentifier: Bool { isLetter || isDigit || self == UInt8(ascii: "_") || self >= 0x80 }
}

extension Unicode.Scalar {
    /// CSDL 4.01, section 15.2: categories L, Nl, Nd, Mn, Mc, Pc and Cf.
    fileprivate var fitsIdentifier: Bool {
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .letterNumber,
            .decimalNumber, .nonspacingMark, .spacingMark, .connectorPunctuation, .format:
            true
        default: false
        }
    }
}
