import AdapterKit
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// Pages that go through several sets.
struct MultiSetPaging: Sendable {
    struct Part: Sendable {
        let table: RecordTable
        let cast: QualifiedName?
    }

    private let parts: [Part]
    private let options: [QueryOption]
    private let pageSize: Int
    private let runner: QueryRunner
    private let begin: Token
    private let skip: Int
    private let counts: Bool

    /// Throws where the `$skiptoken` is none of these pages'.
    init(_ parts: [Part], options: [QueryOption], pageSize: Int, _ runner: QueryRunner) throws {
        var (begin, skip, counts) = (Token(), 0, false)
        for option in options {
            switch option.form {
            case .skip(let digits): skip = Int(digits) ?? .max
            case .top(let digits): begin.remaining = Int(digits) ?? .max
            case .count(let isWanted): counts = isWanted
            default: continue
            }
        }
        for case .skipToken(let text) in options.map(\.form) {
            guard let read = Token(text) else {
                throw PorticoError(.requestInvalid, "The $skiptoken belongs to another query.", target: "$skiptoken")
            }
            (begin, skip) = (read, 0)
        }
        (self.parts, self.options, self.pageSize, self.runner) = (parts, options, pageSize, runner)
        (self.begin, self.skip, self.counts) = (begin, skip, counts)
    }

    /// With `$count=true`: how many entities there are in all.
    func total(at snapshot: any RecordSnapshot) throws -> Int? {
        counts ? try parts.reduce(0) { try $0 + plan($1).count(at: snapshot) } : nil
    }

    /// Gives the page's rows, some at a time, with their shape and their set's name. Returns the `$skiptoken` of the next
    /// page; nil on the last.
    func rows(
        at snapshot: any RecordSnapshot, _ receive: ([ResultRow], ResultShape, _ source: String) throws -> Void
    ) throws -> String? {
        var (token, skip, room) = (begin, skip, pageSize)
        while token.part < parts.count, token.remaining != 0 {
            guard room > 0 else { return token.text }
            let part = parts[token.part]
            if skip > 0 {
                let count = try plan(part).count(at: snapshot)
                if skip >= count {
                    skip -= count
                    token.part += 1
                    continue
                }
            }
            let plan = try plan(part, limit: min(room, token.remaining ?? room), skip: skip, token: token.inner)
            skip = 0
            token.inner = try plan.rows(at: snapshot) { rows in
                room -= rows.count
                token.remaining? -= rows.count
                try receive(rows, plan.shape, part.table.source)
            }
            if token.inner == nil { token.part += 1 }
        }
        return nil
    }

    private func plan(_ part: Part, limit: Int? = nil, skip: Int = 0, token: String? = nil) throws -> QueryPlan {
        var own = options.filter { option in
            switch option.form {
            case .top, .skip, .count, .skipToken: false
            default: true
            }
        }
        let nowhere = SourceRange(0, 0)
        if let token { own.append(QueryOption(.skipToken(token), nameRange: nowhere, range: nowhere)) }
        if skip > 0 { own.append(QueryOption(.skip(String(skip)), nameRange: nowhere, range: nowhere)) }
        return try runner.plan(
            EntityQuery(
                part.table.source, cast: part.cast, options: own, pageSize: limit ?? pageSize, now: runner.now))
    }
}

extension MultiSetPaging {
    /// `set.rest.token`: the set that the page begins in, what `$top` still allows, and the token within the set.
    private struct Token {
        var part = 0
        var remaining: Int?
        var inner: String?

        init() {}

        init?(_ text: String) {
            let pieces = text.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
            guard pieces.count == 3, let part = Int(pieces[0]), part >= 0 else { return nil }
            self.part = part
            remaining = Int(pieces[1])
            guard pieces[1].isEmpty || (remaining ?? -1) >= 0 else { return nil }
            inner = pieces[2].isEmpty ? nil : String(pieces[2])
        }

        var text: String { "\(part).\(remaining.map(String.init) ?? "").\(inner ?? "")" }
    }
}
