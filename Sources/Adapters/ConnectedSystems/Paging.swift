import AdapterKit

/// The way in which the pages of a list follow each other.
///
/// A page is asked for with what the page before said. What cannot be right ends the refresh, so that nothing of it takes
/// effect: a cursor that repeats, a next page at another server, fewer rows than the system says there are.
struct Paging: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// One page has all rows.
        case none
        /// By the number of rows before it.
        case offset(query: String)
        /// By its number.
        case page(query: String, first: Int64)
        /// By a text of the page before.
        case cursor(query: String, from: Cursor, more: DocumentPath?)
        /// By an address: at a place of the answer, or in the field `Link` (RFC 8288).
        case link(DocumentPath?)
    }

    enum Cursor: Sendable, Equatable {
        case answer(DocumentPath)
        /// A field of the last row.
        case lastRow(FieldName)
    }

    let kind: Kind
    /// The member of the query with the number of rows, and that number.
    var limit: (name: String, size: Int64)?
    /// Where the answer has the number of all rows.
    var total: DocumentPath?
    /// Statuses of a page after the first that say that there are no further rows.
    var endStatuses: Set<Int> = []

    static let none = Paging(kind: .none)

    static func == (left: Paging, right: Paging) -> Bool {
        left.kind == right.kind && left.limit?.name == right.limit?.name && left.limit?.size == right.limit?.size
            && left.total == right.total && left.endStatuses == right.endStatuses
    }

    /// Pages of one refresh.
    static let mostPages = 100_000
    /// Bytes of a cursor.
    static let longestCursor = 4_096

    /// The statements of one page about the next.
    struct Answer {
        let document: WireValue
        let isXML: Bool
        let rowCount: Int64
        let lastRow: WireDictionary?
        /// Tells pages with the same rows.
        let fingerprint: UInt64
        let linkField: [String]
        /// From where it came.
        let address: UpstreamAddress
    }
}

/// Which page is asked for, as a text that the host hands back.
struct PagePosition: Sendable, Equatable {
    /// From 1.
    var number = 1
    /// The offset, the page's number, the cursor or the address; empty: the first page.
    var place = ""
    /// The mark of an earlier page. It is taken anew at page numbers that are powers of two, so that pages which lead in a
    /// circle meet it (Brent's algorithm).
    var mark = ""
    /// Rows of the pages before.
    var rows: Int64 = 0
    /// The number of rows that there are said to be.
    var total: Int64?
    /// The largest value of the field that changes are asked for by.
    var newest = ""

    init() {}

    /// Nil for a text that ``text`` did not make.
    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.count == 6, let number = Int(lines[0]), let rows = Int64(lines[3]) else { return nil }
        (self.number, self.rows) = (number, rows)
        (place, mark, newest) = (lines[1], lines[2], lines[5])
        total = Int64(lines[4])
    }

    var text: String {
        [String(number), place, mark, String(rows), total.map { String($0) } ?? "", newest].joined(separator: "\n")
    }
}

extension Paging {
    /// Members of the query for a page.
    func query(at position: PagePosition) -> [(name: String, value: String)] {
        var members: [(name: String, value: String)] = limit.map { [(name: $0.name, value: String($0.size))] } ?? []
        switch kind {
        case .none, .link: break
        case .offset(let query): members.append((name: query, value: position.place.isEmpty ? "0" : position.place))
        case .page(let query, let first):
            members.append((name: query, value: position.place.isEmpty ? String(first) : position.place))
        case .cursor(let query, _, _):
            if !position.place.isEmpty { members.append((name: query, value: position.place)) }
        }
        return members
    }

    /// The next page; nil: this was the last one. Throws ``MirrorRefusal`` for what cannot be right, and `upstream.failed`
    /// where the number of rows changed while they were read.
    func next(after position: PagePosition, _ answer: Answer, of upstream: UpstreamName) throws -> PagePosition? {
        var next = position
        next.total = try total(position, answer, upstream)
        let (reached, overflow) = position.rows.addingReportingOverflow(answer.rowCount)
        guard !overflow else { throw MirrorRefusal(.unexpected, "there are too many rows") }
        next.rows = reached
        guard let place = try place(after: position, answer, reached, total: next.total) else { return nil }
        guard position.number < Self.mostPages else {
            throw MirrorRefusal(.unexpected, "there are more than \(Self.mostPages) pages")
        }
        next.place = place
        next.number += 1
        let mark = isCounted ? String(answer.fingerprint) : place
        guard mark != position.mark else { throw MirrorRefusal(.unexpected, "pages lead in a circle") }
        if next.number & position.number == 0 { next.mark = mark }
        return next
    }

    /// Whether pages are distinguished by their rows, because each has another number.
    private var isCounted: Bool {
        switch kind {
        case .offset, .page: true
        case .none, .cursor, .link: false
        }
    }

    private func total(_ position: PagePosition, _ answer: Answer, _ upstream: UpstreamName) throws -> Int64? {
        guard let path = total else { return nil }
        let told = path.value(in: answer.document, isXML: answer.isXML)
        guard let number = told?.int64Value ?? told?.stringValue.flatMap({ Int64($0) }), number >= 0 else {
            throw MirrorRefusal(.unexpected, "the answer has no number of all rows at \(path)")
        }
        guard position.total == nil || position.total == number else {
            // A page would lack a row that is still there, or have one twice.
            throw PorticoError(
                .upstreamFailed, "The system \(upstream) could not be asked.",
                logDetail: "the number of rows changed while they were read")
        }
        return number
    }

    private func place(
        after position: PagePosition, _ answer: Answer, _ reached: Int64, total: Int64?
    ) throws -> String? {
        switch kind {
        case .none: return nil
        case .offset: return try isEnd(reached, answer, total) ? nil : String(reached)
        case .page(_, let first):
            return try isEnd(reached, answer, total) ? nil : Self.following(position.place, first)
        case .cursor(_, let cursor, let more):
            if let more, !(Self.isTrue(more.value(in: answer.document, isXML: answer.isXML)) ?? true) { return nil }
            return try self.cursor(cursor, answer, isExpected: more != nil)
        case .link(let path): return try link(path, answer)
        }
    }

    private static func following(_ place: String, _ first: Int64) throws -> String {
        let (next, overflow) = (Int64(place) ?? first).addingReportingOverflow(1)
        guard !overflow else { throw MirrorRefusal(.unexpected, "there are too many pages") }
        return String(next)
    }

    /// Without a number of all rows the end is a page without any: a system may give fewer than are asked for.
    private func isEnd(_ reached: Int64, _ answer: Answer, _ total: Int64?) throws -> Bool {
        guard let total else { return answer.rowCount == 0 }
        guard reached <= total else { throw MirrorRefusal(.unexpected, "the answer has more rows than it says") }
        if reached == total { return true }
        guard answer.rowCount > 0 else { throw MirrorRefusal(.unexpected, "the answer has fewer rows than it says") }
        return false
    }

    /// Nil for what is neither.
    static func isTrue(_ value: WireValue?) -> Bool? {
        switch value {
        case .bool(let flag): flag
        case .string("true"): true
        case .string("false"): false
        default: nil
        }
    }

    private func cursor(_ cursor: Cursor, _ answer: Answer, isExpected: Bool) throws -> String? {
        let found: WireValue? =
            switch cursor {
            case .answer(let path): path.value(in: answer.document, isXML: answer.isXML)
            case .lastRow(let field): answer.lastRow?[field.text]
            }
        switch found {
        case nil, .null, .string(""):
            guard !isExpected || answer.rowCount == 0 else {
                throw MirrorRefusal(.unexpected, "the answer has a further page and no cursor")
            }
            return nil
        case .int64(let number): return String(number)
        case .string(let text):
            guard text.utf8.count <= Self.longestCursor, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
                throw MirrorRefusal(.unexpected, "the answer's cursor is too long, or no text")
            }
            return text
        default: throw MirrorRefusal(.unexpected, "the answer's cursor is no text")
        }
    }

    private func link(_ path: DocumentPath?, _ answer: Answer) throws -> String? {
        let found: String?
        if let path {
            switch path.value(in: answer.document, isXML: answer.isXML) {
            case nil, .null, .string(""): found = nil
            case .string(let text): found = text
            default: throw MirrorRefusal(.unexpected, "the address of the next page is no text")
            }
        } else {
            found = try LinkField.target(of: "next", in: answer.linkField)
        }
        guard let found else { return nil }
        guard let address = answer.address.resolving(found) else {
            throw MirrorRefusal(.unexpected, "the address of the next page is none")
        }
        guard address.origin == answer.address.origin else {
            throw MirrorRefusal(.unexpected, "the next page is at another server")
        }
        return address.description
    }
}

/// The field `Link` (RFC 8288, section 3).
enum LinkField {
    /// The target of the first link with this relation; nil: there is none. Throws ``MirrorRefusal`` for a field that is
    /// malformed: what it lacks may be the next page.
    static func target(of relation: String, in fields: [String]) throws(MirrorRefusal) -> String? {
        for field in fields {
            for link in try links(field) where link.relations.contains(relation) { return link.target }
        }
        return nil
    }

    private static func links(_ field: String) throws(MirrorRefusal) -> [(target: String, relations: [String])] {
        var links: [(target: String, relations: [String])] = []
        var rest = field[...]
        while let open = rest.firstIndex(where: { !$0.isFieldWhitespace && $0 != "," }) {
            guard rest[open] == "<", let close = rest[open...].firstIndex(of: ">") else { throw malformed }
            let target = String(rest[rest.index(after: open)..<close])
            rest = rest[close...].dropFirst()
            let parameters = try Self.parameters(&rest)
            // Of another resource than the page (section 3.2).
            if parameters.contains(where: { $0.name == "anchor" }) { continue }
            let relations =
                parameters.first { $0.name == "rel" }?.value.lowercased().split { $0.isFieldWhitespace } ?? []
            links.append((target: target, relations: relations.map(String.init)))
        }
        return links
    }

    private static var malformed: MirrorRefusal { MirrorRefusal(.unexpected, "the field Link is malformed") }

    /// Up to the comma that ends the link, which may stand in quotes as well.
    private static func parameters(
        _ rest: inout Substring
    ) throws(MirrorRefusal) -> [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = []
        var (isQuoted, isEscaped, current) = (false, false, "")
        func add() throws(MirrorRefusal) {
            let halves = current.split(separator: "=", maxSplits: 1).map(\.trimmingFieldWhitespace)
            current = ""
            guard let name = halves.first?.lowercased(), !name.isEmpty else { return }
            // What is no parameter may be the relation that names the next page.
            guard name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { throw malformed }
            if halves.count == 2 { parameters.append((name: name, value: halves[1])) }
        }
        while let character = rest.popFirst() {
            if isEscaped {
                current.append(character)
                isEscaped = false
            } else if isQuoted, character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            } else if !isQuoted, character == ";" {
                try add()
            } else if !isQuoted, character == "," {
                break
            } else {
                current.append(character)
            }
        }
        guard !isQuoted else { throw malformed }
        try add()
        return parameters
    }
}
