import ODataLanguage
import ODataModel

/// Holds the options of one level to what the model says that its set does not take (Capabilities vocabulary:
/// `FilterRestrictions`, `SortRestrictions`, `SearchRestrictions`, `CountRestrictions`). Paths that begin elsewhere, at
/// `$root` or a lambda's variable, are another set's.
struct RestrictionCheck {
    let source: String
    let restrictions: SetRestrictions
    /// Values of parameter aliases, by name.
    let aliases: [String: Expression]

    func check(_ options: CollectedOptions) throws(QueryProblem) {
        if let filter = options.filter {
            try refuse(!restrictions.isFilterable, "\(source) cannot be filtered.", filter.range)
            try refuse(restrictions.nonFilterable, in: filter, "filtered")
            try require(in: filter)
            try FilterExpressionCheck(source: source, allowed: restrictions.filterExpressions, aliases: aliases)
                .check(filter)
        }
        for item in options.order {
            try refuse(!restrictions.isSortable, "\(source) cannot be sorted.", item.expression.range)
            try refuse(restrictions.nonSortable, in: item.expression, "sorted")
        }
        if let search = options.search {
            try refuse(!restrictions.isSearchable, "\(source) cannot be searched.", search.range)
        }
        try refuse(options.count && !restrictions.isCountable, "\(source) cannot be counted.", nil)
    }

    /// For a set as a whole, of which a filter must choose.
    func requireFilter(_ options: CollectedOptions) throws(QueryProblem) {
        let isFiltered = options.filter != nil
        try refuse(restrictions.needsFilter && !isFiltered, "\(source) is read with $filter only.", nil)
        if let missing = restrictions.requiredInFilter.min(), !isFiltered {
            throw QueryProblem("The filter of \(source) must look at \(missing).")
        }
    }

    private func refuse(_ isRefused: Bool, _ message: String, _ range: SourceRange?) throws(QueryProblem) {
        if isRefused { throw QueryProblem(message, at: range) }
    }

    private func refuse(_ names: Set<String>, in expression: Expression, _ verb: String) throws(QueryProblem) {
        guard !names.isEmpty else { return }
        for use in PropertyUses(of: expression, aliases: aliases).all where names.contains(where: use.isOf) {
            throw QueryProblem("\(source) cannot be \(verb) by \(use.path).", at: use.range)
        }
    }

    private func require(in filter: Expression) throws(QueryProblem) {
        guard !restrictions.requiredInFilter.isEmpty else { return }
        let uses = PropertyUses(of: filter, aliases: aliases).all
        for name in restrictions.requiredInFilter.sorted() where !uses.contains(where: { $0.isOf(name) }) {
            throw QueryProblem("The filter of \(source) must look at \(name).", at: filter.range)
        }
    }
}
