import AdapterKit

/// How large a statement may become, counted while it is compiled.
///
/// ``RelationLimits`` count what a relation is written with. Where a compiler puts an expression into its text more than
/// once, and that expression another one, the text doubles with each level: a relation of some hundred bytes would be a
/// statement of gigabytes. Every compiled expression and relation is charged here, and what repeats one charges the
/// repetitions before making them; all else uses each of its parts once. So never more than twice the budget is in
/// memory. Of one thread.
final class StatementBudget {
    /// Bytes of one statement's text, and of what stands in it.
    static let maximumBytes = 1 << 20
    /// Bytes of all fragments that a statement is made of, one after the other: each holds those within it once more.
    static let maximumBuiltBytes = 16 << 20
    /// Parts of all expressions, where a nested relation's column counts as all that it stands for. SQLite puts a column's
    /// expression where the column is named (https://www.sqlite.org/optoverview.html, section 11), so that a column
    /// named ten times in the next level, and so on for seven levels, takes gigabytes to prepare.
    static let maximumParts = 50_000

    /// So far.
    private(set) var parts = 0
    private var builtBytes = 0

    /// Throws `request.limitExceeded` where a fragment that is put into another so many times is too much.
    func charge(_ fragment: SQLFragment, times: Int = 1) throws(PorticoError) {
        let size = fragment.sql.utf8.count + fragment.values.count * MemoryLayout<SQLValue>.stride
        let (bytes, overflow) = size.multipliedReportingOverflow(by: times)
        guard !overflow, bytes <= Self.maximumBytes, bytes <= Self.maximumBuiltBytes - builtBytes else {
            throw Self.excess
        }
        builtBytes += bytes
    }

    /// Counts parts. Throws `request.limitExceeded` where there are too many.
    func count(_ more: Int = 1) throws(PorticoError) {
        guard more <= Self.maximumParts - parts else { throw Self.excess }
        parts += more
    }

    /// Counts the parts since `before` again, for as many copies as there are beside the first one.
    func count(since before: Int, copies: Int) throws(PorticoError) {
        let (more, overflow) = (parts - before).multipliedReportingOverflow(by: copies - 1)
        try count(overflow ? .max : more)
    }

    /// Of an expression that is put into another so many times more.
    func charge(_ counted: CountedSQL, times: Int) throws(PorticoError) {
        try charge(counted.typed.fragment, times: times)
        try count(counted.parts * times)
    }

    private static var excess: PorticoError {
        PorticoError(.requestLimitExceeded, "The query is too large once its parts are put into each other.")
    }
}

/// A compiled expression, and how many parts it has where each column in it counts as what it stands for.
struct CountedSQL {
    let typed: TypedSQL
    let parts: Int
}
