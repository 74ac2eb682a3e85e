/// Items of `$select` and `$expand`, section 2 of the ABNF.
extension Parser {
    mutating func selectItem() throws(Mismatch) -> SelectItem {
        let start = at
        var segments: [PathSegment] = []
        repeat { try selectSegment(into: &segments) } while skipSlash()
        let options = try selectOptions(&segments)
        return SelectItem(MemberPath(segments, range(from: start)), options: options)
    }

    private mutating func selectSegment(into segments: inout [PathSegment]) throws(Mismatch) {
        try countNode()
        let start = at
        if skip("*") {
            segments.append(PathSegment(.star, range(from: start)))
        } else if peek() == UInt8(ascii: "@") {
            segments.append(PathSegment(.annotation(try annotationName()), range(from: start)))
        } else {
            let name = try optionallyQualifiedName()
            segments.append(PathSegment(.name(name), range(from: start)))
            guard peek() == UInt8(ascii: "."), peek(1) == UInt8(ascii: "*") else { return }
            // `Namespace.*`: all operations of a schema.
            at += 2
            let namespace = name.description
            segments.removeLast()
            segments.append(PathSegment(.name(WrittenName(namespace, "*")), range(from: start)))
        }
    }

    /// `( option ; … )`, or the parameters' names that tell overloads apart, which become a segment.
    private mutating func selectOptions(_ segments: inout [PathSegment]) throws(Mismatch) -> [QueryOption] {
        guard peek() == UInt8(ascii: "(") else { return [] }
        guard case .name? = segments.last?.form else { return try nestedOptions(.ofSelect) }
        let start = at
        if let options = try attempt({ parser throws(Mismatch) in try parser.nestedOptions(.ofSelect) }) {
            return options
        }
        try expect("(")
        let names = try commaSeparated { parser throws(Mismatch) in try parser.identifier() }
        try close()
        segments.append(PathSegment(.arguments(.names(names)), range(from: start)))
        return []
    }

    private mutating func skipSlash() -> Bool {
        note("`/`", at: at)
        return skip("/")
    }

    mutating func expandItem() throws(Mismatch) -> ExpandItem {
        try countNode()
        let start = at
        if skip(word: "$value", ignoringCase: false) {
            let range = range(from: start)
            return ExpandItem(MemberPath([PathSegment(.value, range)], range), options: [])
        }
        var segments: [PathSegment] = []
        repeat { try expandSegment(into: &segments) } while !endsExpandPath(segments) && skipSlash()
        let options = try expandOptions(behind: segments)
        return ExpandItem(MemberPath(segments, range(from: start)), options: options)
    }

    private mutating func expandSegment(into segments: inout [PathSegment]) throws(Mismatch) {
        try countNode()
        let start = at
        let form: PathSegment.Form
        switch peek() {
        case UInt8(ascii: "*"):
            at += 1
            form = .star
        case UInt8(ascii: "@"): form = .annotation(try annotationName())
        case UInt8(ascii: "$") where !segments.isEmpty:
            if skip(word: "$count", ignoringCase: false) {
                form = .count([])
            } else {
                try expect(word: "$ref", ignoringCase: false)
                form = .ref
            }
        default: form = .name(try optionallyQualifiedName())
        }
        segments.append(PathSegment(form, range(from: start)))
    }

    /// Whether nothing can follow but options: behind `$ref` and `$count`.
    private func endsExpandPath(_ segments: [PathSegment]) -> Bool {
        switch segments.last?.form {
        case .ref, .count: true
        default: false
        }
    }

    private mutating func expandOptions(behind segments: [PathSegment]) throws(Mismatch) -> [QueryOption] {
        guard peek() == UInt8(ascii: "(") else { return [] }
        switch segments.last?.form {
        case .ref: return try nestedOptions(.ofExpandedReference)
        case .count: return try nestedOptions(.ofCount)
        default: return try nestedOptions(.ofExpand)
        }
    }
}
