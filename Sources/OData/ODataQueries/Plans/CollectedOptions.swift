import ODataLanguage

/// The options of one level, each at most once.
struct CollectedOptions {
    var filter: Expression?
    var order: [OrderItem] = []
    var select: [SelectItem]?
    var expand: [ExpandItem] = []
    var compute: [ComputeItem] = []
    var search: (expression: SearchExpression, range: SourceRange)?
    var apply: [Transformation]?
    var top: Int?
    var skip = 0
    var count = false
    var levels: Levels?
    var skipToken: (text: String, range: SourceRange)?
    var aliases: [String: Expression] = [:]

    init(_ options: [QueryOption], limits: QueryLimits) throws(QueryProblem) {
        var seen: Set<String> = []
        for option in options {
            if let name = option.form.name, !seen.insert(name).inserted {
                throw QueryProblem("\(name) is given twice.", at: option.nameRange)
            }
            try take(option, limits)
        }
    }

    private mutating func take(_ option: QueryOption, _ limits: QueryLimits) throws(QueryProblem) {
        switch option.form {
        case .filter(let expression): filter = expression
        case .orderBy(let items):
            guard items.count <= limits.orderCriteria else {
                throw QueryProblem(
                    "$orderby has at most \(limits.orderCriteria) criteria.", at: option.range, kind: .limitExceeded)
            }
            order = items
        case .select(let items): select = items
        case .expand(let items): expand = items
        case .compute(let items): compute = items
        case .search(let expression): search = (expression, option.range)
        case .apply(let transformations): apply = transformations
        case .top(let digits): top = try Self.number(digits, option.range) ?? Int(Int32.max)
        case .skip(let digits):
            guard let number = try Self.number(digits, option.range), number <= limits.skip else {
                throw QueryProblem("$skip is at most \(limits.skip).", at: option.range, kind: .limitExceeded)
            }
            skip = number
        case .count(let isWanted): count = isWanted
        case .levels(let wanted): levels = wanted
        case .skipToken(let text): skipToken = (text, option.range)
        case .alias(let name, let expression): aliases[name] = expression
        case .index, .format, .deltaToken, .schemaVersion, .id, .custom: break
        }
    }

    /// Nil for one that is too large to count.
    static func number(_ digits: String, _ range: SourceRange) throws(QueryProblem) -> Int? {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else {
            throw QueryProblem("A number of rows is expected.", at: range)
        }
        return Int(digits).flatMap { $0 <= Int(Int32.max) ? $0 : nil }
    }
}
