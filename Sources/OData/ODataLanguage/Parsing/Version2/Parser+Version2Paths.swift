/// OData 2.0's resource paths (MS-ODATA, section 2.2.3.5): names, keys, `$links`, `$count` and `$value`.
extension Parser {
    /// What follows the first segment. `$links/Items` becomes `Items/$ref`.
    mutating func version2Segments(into segments: inout [PathSegment]) throws(Mismatch) {
        while skipRaw("/") {
            try countNode()
            let start = at
            if peek() == UInt8(ascii: "$") {
                if skip(word: "$links", ignoringCase: false) { return try linked(from: start, into: &segments) }
                let form: PathSegment.Form
                if skip(word: "$count", ignoringCase: false) {
                    form = .count([])
                } else {
                    try expect(word: "$value", ignoringCase: false)
                    form = .value
                }
                segments.append(PathSegment(form, range(from: start)))
                // Some clients of version 2 write `$value/`.
                if case .value = form { _ = skipRaw("/") }
                return note("the end", at: at)
            }
            try version2Name(into: &segments)
        }
        note("`/`", at: at)
    }

    private mutating func linked(from start: Int, into segments: inout [PathSegment]) throws(Mismatch) {
        let links = range(from: start)
        try expectRaw("/")
        try version2Name(into: &segments)
        segments.append(PathSegment(.ref, links))
        note("the end", at: at)
    }

    private mutating func version2Name(into segments: inout [PathSegment]) throws(Mismatch) {
        let start = at
        segments.append(PathSegment(.name(try optionallyQualifiedName()), range(from: start)))
        try parentheses(into: &segments)
    }
}
