/// How deep `$expand` goes, `$levels` counted, in one pass over the options and those nested in them.
extension RequestTarget {
    /// Throws where an expansion goes deeper than the limit; `$levels=max` is as deep as is left.
    func checkExpansions(_ limits: LanguageLimits) throws(SyntaxError) {
        try Self.check(options, left: limits.expandDepth, limits)
    }

    private static func check(_ options: [QueryOption], left: Int, _ limits: LanguageLimits) throws(SyntaxError) {
        for option in options {
            guard case .expand(let items) = option.form else { continue }
            for item in items {
                let deeper = left - levels(of: item)
                guard deeper >= 0 else {
                    throw SyntaxError(
                        position: item.path.range.start, expected: "at most \(limits.expandDepth) levels of $expand",
                        kind: .limit)
                }
                try check(item.options, left: deeper, limits)
            }
        }
    }

    private static func levels(of item: ExpandItem) -> Int {
        for option in item.options {
            if case .levels(.number(let digits)) = option.form { return Int(digits) ?? Int.max / 2 }
        }
        return 1
    }
}
