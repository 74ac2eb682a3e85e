/// Fragments of context URLs, section 3 of the ABNF. They are read to be checked; servers only write them.
extension Parser {
    /// `context`
    mutating func context() throws(Mismatch) {
        try expect("#")
        if skip(word: "Collection($ref)", ignoringCase: false) || skip(word: "$ref", ignoringCase: false) { return }
        if skip(word: "Collection(Edm.EntityType)", ignoringCase: false) { return }
        if skip(word: "Collection(Edm.ComplexType)", ignoringCase: false) { return }
        if try attempt({ parser throws(Mismatch) in
            _ = try parser.typeName(qualified: true)
            try parser.optionalSelectList()
            guard parser.isAtEnd else { throw parser.mismatch("the end") }
            return true
        }) != nil {
            return
        }
        try contextPath()
    }

    /// A set or singleton, then keys, casts and properties, a list of what is selected, and what kind of thing it is.
    private mutating func contextPath() throws(Mismatch) {
        _ = try identifier()
        try contextParentheses()
        while skip("/") {
            if peek() == UInt8(ascii: "$") { return try contextSuffix() }
            let name = try optionallyQualifiedName()
            try countNode()
            if name.namespace == nil || peek() == UInt8(ascii: "(") { try contextParentheses() }
        }
        note("`/`", at: at)
    }

    private mutating func contextSuffix() throws(Mismatch) {
        for word in Self.suffixes where skip(word: word, ignoringCase: false) { return }
        throw mismatch("`$entity`, `$delta`, `$link`, `$deletedLink` or `$deletedEntity`")
    }

    private static let suffixes: [StaticString] = ["$entity", "$deletedEntity", "$deletedLink", "$delta", "$link"]

    /// A key, or what is selected.
    private mutating func contextParentheses() throws(Mismatch) {
        guard peek() == UInt8(ascii: "(") else { return }
        if try attempt({ parser throws(Mismatch) in try parser.contextKey() }) == nil { try optionalSelectList() }
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
    mutating func optionalSelectList() throws(Mismatch) {
        guard skip("(") else { return }
        if skip(")") { return }
        repeat { try selectListItem() } while skip(",")
        try expect(")")
    }

    private mutating func selectListItem() throws(Mismatch) {
        try countNode()
        if skip("*") { return }
        repeat {
            if peek() == UInt8(ascii: "@") {
                _ = try annotationName()
            } else {
                _ = try optionallyQualifiedName()
                if skip(word: ".*") { return }
            }
            _ = skip("+")
            try nested { parser throws(Mismatch) in try parser.optionalSelectList() }
        } while skip("/")
    }
}
