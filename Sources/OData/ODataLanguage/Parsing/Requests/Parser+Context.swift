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
