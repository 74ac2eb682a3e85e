/// Fragments of context URLs, section 3 of the ABNF. They are read to be checked; servers only write them.
extension Parser {
    /// `context`
    mutating func context() throws(Mismatch) -> ContextFragment {
        try expect("#")
        if skip(word: "Collection($ref)", ignoringCase: false) || skip(word: "$ref", ignoringCase: false) {
            return ContextFragment()
        }
        if skip(word: "Collection(Edm.EntityType)", ignoringCase: false) { return ContextFragment() }
        if skip(word: "Collection(Edm.ComplexType)", ignoringCase: false) { return ContextFragment() }
        if let type = try attempt({ parser throws(Mismatch) in
            _ = try parser.typeName(qualified: true)
            _ = try parser.optionalSelectList()
            guard parser.isAtEnd else { throw parser.mismatch("the end") }
            return ContextFragment()
        }) {
            return type
        }
        return try contextPath()
    }

    /// A set or singleton, then keys, casts and properties, a list of what is selected, and what kind of thing it is.
    private mutating func contextPath() throws(Mismatch) -> ContextFragment {
        let start = at
        let first = try identifier()
        var path = [ContextFragment.Step(WrittenName(nil, first), range(from: start))]
        var selection = try contextParentheses()
        while skip("/") {
            if peek() == UInt8(ascii: "$") {
                return ContextFragment(path: path, selection: selection, kind: try contextSuffix())
            }
            let step = try contextStep()
            path.append(step)
            if step.name.namespace == nil || peek() == UInt8(ascii: "(") { selection = try contextParentheses() }
        }
        note("`/`", at: at)
        return ContextFragment(path: path, selection: selection)
    }

    private mutating func contextStep() throws(Mismatch) -> ContextFragment.Step {
        let start = at
        let name = try optionallyQualifiedName()
        try countNode()
        return ContextFragment.Step(name, range(from: start))
    }

    private mutating func contextSuffix() throws(Mismatch) -> String {
        for word in Self.suffixes where skip(word: word, ignoringCase: false) { return "\(word)" }
        throw mismatch("`$entity`, `$delta`, `$link`, `$deletedLink` or `$deletedEntity`")
    }

    private static let suffixes: [StaticString] = ["$entity", "$deletedEntity", "$deletedLink", "$delta", "$link"]

    /// A key, or what is selected.
    private mutating func contextParentheses() throws(Mismatch) -> [ContextFragment.Item]? {
        guard peek() == UInt8(ascii: "(") else { return nil }
        if try attempt({ parser throws(Mismatch) in try parser.contextKey() }) != nil { return nil }
        return try optionalSelectList()
    }

    private mutating func contextKey() throws(Mismatch) {
        try expect("(")
        if try attempt({ parser throws(Mismatch) in _ = try parser.literal() }) == nil {
            _ = try commaSeparated { parser throws(Mismatch) in
                _ = try parser.identifier()
                try parser.expect("=")
                _ = try parser.literal()
            }
        }
        try expect(")")
    }

    /// `selectList`
    mutating func optionalSelectList() throws(Mismatch) -> [ContextFragment.Item]? {
        guard skip("(") else { return nil }
        if skip(")") { return [] }
        var items: [ContextFragment.Item] = []
        repeat { items.append(try selectListItem()) } while skip(",")
        try expect(")")
        return items
    }

    private mutating func selectListItem() throws(Mismatch) -> ContextFragment.Item {
        try countNode()
        if skip("*") { return ContextFragment.Item([]) }
        var path: [ContextFragment.Step] = []
        var selection: [ContextFragment.Item]?
        var isOfNames = true
        repeat {
            if peek() == UInt8(ascii: "@") {
                _ = try annotationName()
                isOfNames = false
            } else {
                path.append(try contextStep())
                if skip(word: ".*") { return ContextFragment.Item([]) }
            }
            _ = skip("+")
            selection = try nested { parser throws(Mismatch) in try parser.optionalSelectList() }
        } while skip("/")
        return ContextFragment.Item(isOfNames ? path : [], selection: isOfNames ? selection : nil)
    }
}

/// Header fields and preferences, section 8 of the ABNF.
extension Parser {
    /// `header`: a field's name, a colon, and its value.
    mutating func header() throws(Mismatch) {
        for field in HeaderField.allCases where skip(word: field.word) {
            try expect(":")
            skipSpace()
            return try value(of: field)
        }
        throw mismatch("a header field")
    }

    private enum HeaderField: CaseIterable {
        case asyncResult, contentID, isolation, prefixedIsolation, entityID, error, maximumVersion, version, prefer

        var word: StaticString {
            switch self {
            case .asyncResult: "AsyncResult"
            case .contentID: "Content-ID"
            case .isolation: "Isolation"
            case .prefixedIsolation: "OData-Isolation"
            case .entityID: "OData-EntityID"
            case .error: "OData-Error"
            case .maximumVersion: "OData-MaxVersion"
            case .version: "OData-Version"
            case .prefer: "Prefer"
            }
        }
    }

    private mutating func value(of field: HeaderField) throws(Mismatch) {
        switch field {
        case .asyncResult: try digits(3...3)
        case .contentID: try requestIdentifier()
        case .isolation, .prefixedIsolation: try expect(word: "snapshot")
        case .entityID: try visible()
        case .error: try errorObject()
        case .maximumVersion: try maximumVersion()
        case .version: try version()
        case .prefer: try preferences()
        }
    }

    /// `request-id`
    mutating func requestIdentifier() throws(Mismatch) {
        let start = at
        while let byte = peek(), byte.isUnreserved { at += 1 }
        guard at > start else { throw mismatch("an identifier") }
    }

    private mutating func visible() throws(Mismatch) {
        let start = at
        while let byte = peek(), byte > 0x20, byte != 0x7F { at += 1 }
        guard at > start else { throw mismatch("an IRI") }
    }

    private mutating func errorObject() throws(Mismatch) {
        try expect(word: "{\"code\":", ignoringCase: false)
        while let byte = peek(), byte >= 0x20, byte < 0x7F { at += 1 }
    }

    private mutating func maximumVersion() throws(Mismatch) {
        try digits()
        try expect(".")
        try digits()
    }

    private mutating func version() throws(Mismatch) {
        try expect(word: "4.0")
        if let byte = peek(), byte.isDigit, byte != UInt8(ascii: "0") { at += 1 }
    }

    /// `prefer` without its field's name
    mutating func preferences() throws(Mismatch) {
        _ = try commaSeparated { parser throws(Mismatch) in try parser.preference() }
    }

    /// `preference`
    mutating func preference() throws(Mismatch) {
        let hasPrefix = skip(word: "odata.")
        if !hasPrefix, try plainPreference() { return }
        if skip(word: "allow-entityreferences") || skip(word: "track-changes") { return }
        if skip(word: "callback") { return try callback() }
        if skip(word: "continue-on-error") {
            if try equalsSign(optional: true) { _ = try boolean() }
            return
        }
        if skip(word: "include-annotations") { return try includedAnnotations() }
        if skip(word: "maxpagesize") {
            _ = try equalsSign()
            guard let first = peek(), first.isDigit, first != UInt8(ascii: "0") else { throw mismatch("1 to 9") }
            try digits()
            return
        }
        throw mismatch("a preference")
    }

    /// Those that never have `odata.` before them.
    private mutating func plainPreference() throws(Mismatch) -> Bool {
        if skip(word: "respond-async") { return true }
        if skip(word: "omit-values") {
            _ = try equalsSign()
            if !skip(word: "nulls") { try expect(word: "defaults") }
        } else if skip(word: "return") {
            _ = try equalsSign()
            if !skip(word: "minimal", ignoringCase: false) { try expect(word: "representation", ignoringCase: false) }
        } else if skip(word: "wait") {
            _ = try equalsSign()
            try digits()
        } else {
            return false
        }
        return true
    }

    /// `EQ-h`
    private mutating func equalsSign(optional: Bool = false) throws(Mismatch) -> Bool {
        let start = at
        skipSpace()
        guard skip("=") else {
            guard optional else { throw mismatch("`=`") }
            at = start
            return false
        }
        skipSpace()
        return true
    }

    private mutating func callback() throws(Mismatch) {
        skipSpace()
        try expect(";")
        skipSpace()
        try expect(word: "url")
        _ = try equalsSign()
        try expect("\"")
        let start = at
        while let byte = peek(), byte > 0x20, byte != UInt8(ascii: "\""), byte < 0x7F { at += 1 }
        let url = text(start, at) ?? ""
        guard let scheme = url.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).first,
            scheme.count < url.count, scheme.first?.isLetter == true
        else { throw mismatch("an absolute URL") }
        try expect("\"")
    }

    private mutating func includedAnnotations() throws(Mismatch) {
        _ = try equalsSign()
        try expect("\"")
        repeat {
            _ = skip("-")
            try includedAnnotation()
            if skip("#") { _ = try identifier() }
        } while skip(",")
        try expect("\"")
    }

    /// `*`, `Namespace.*` or `Namespace.Term`
    private mutating func includedAnnotation() throws(Mismatch) {
        if skip("*") { return }
        let name = try optionallyQualifiedName()
        if skip(word: ".*") { return }
        guard name.namespace != nil else { throw mismatch("`.`") }
    }
}
