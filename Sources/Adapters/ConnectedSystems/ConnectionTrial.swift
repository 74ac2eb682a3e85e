import AdapterKit

/// Fetches one page of each entity of a connection, and the next to see that it is another, and shows its rows as they would be stored. Nothing is stored.
public struct ConnectionTrial: Sendable {
    /// So many kinds of what does not fit are shown, and so many rows are looked at for members that nothing takes.
    static let mostProblems = 100

    let connection: Connection
    let directory: String
    let upstream: (any Upstream)?
    let clock: any WallClock
    /// Rows that are shown of each entity.
    let shown: Int

    /// `directory`: that of the connection file. `upstream`: the system that it names.
    public init(
        _ connection: Connection, directory: String, upstream: (any Upstream)?, clock: any WallClock, showing shown: Int
    ) {
        (self.connection, self.directory, self.upstream, self.clock) = (connection, directory, upstream, clock)
        self.shown = max(0, shown)
    }

    /// The entities' names in the file.
    public var entities: [EntityName] { connection.entities.map(\.name) }

    /// The result for an entity: `entity`, `address` or `file`, `rows` as they would be stored, `fetched`, `deleted` (how many of
    /// these say that they are gone), `further` (whether there is another page), `problems` (`count`, `row` and `key` of the
    /// first, `field`, `reason`), `warnings`, `unused` members; or `failure`. `usable`: whether a refresh would store anything.
    public func report(_ name: EntityName) async -> WireDictionary {
        guard let connected = connection.entities.first(where: { $0.name == name }) else {
            return ["entity": .string(name.text)]
        }
        var report: WireDictionary = ["entity": .string(name.text)]
        do {
            if let file = connected.file(in: directory, connection.revision) {
                report["file"] = .string(file.path)
                let document = try file.document()
                try add(to: &report, connected, document, try connected.rows.items(document), [])
            } else {
                try await fetch(connected, &report)
            }
        } catch {
            report["failure"] = .string(reason(error))
            report["usable"] = false
        }
        return report
    }

    private func reason(_ error: any Error) -> String {
        switch error {
        case let refusal as MirrorRefusal: refusal.detail
        case let problem as Template.Problem: problem.message
        case let failure as UpstreamFailure:
            "\(failure.detail.isEmpty ? failure.kind.rawValue : failure.detail)\(failure.kind.hint(connection.upstream?.name))"
        case let error as PorticoError: error.logDetail ?? error.message
        default: "\(error)"
        }
    }

    private func fetch(_ connected: ConnectedEntity, _ report: inout WireDictionary) async throws {
        guard case .address(let request) = connected.source, let upstream else {
            throw PorticoError(.adapterUnavailable, "The connection names no upstream.")
        }
        let source = ConnectedEntitySource(
            connected: connected, request: request, upstream: upstream, headers: connection.headers, clock: clock,
            revision: connection.revision)
        let asked = try source.pageRequest(PagePosition(), nil)
        report["address"] = .string(asked.address.logged)
        let response = try await upstream.send(asked)
        if response.status == 401 || response.status == 403 {
            throw MirrorRefusal(
                .unexpected,
                "\(response.address.logged) answered \(response.status): see `credentials` of the upstream \(upstream.name)"
            )
        }
        let fetched: ConnectedEntitySource.Fetched
        do { fetched = try source.read(response, PagePosition()) } catch let refusal as MirrorRefusal {
            throw try refusal.naming(listsOf: response, connected.rows, upstream.name)
        }
        var warnings: [String] = []
        if let next = fetched.next {
            do {
                let second = try await source.fetch(next, nil)
                if second.rows.count > 0, second.rows.fingerprint == fetched.rows.fingerprint {
                    throw MirrorRefusal(.unexpected, "it has the rows of the first")
                }
            } catch {
                warnings.append("The second page: \(reason(error)). A refresh would fail: see `paging`.")
                report["usable"] = false
            }
        } else {
            let isUnpaged = connected.paging.kind == Paging.Kind.none
            var signs = fetched.hasNextLink ? ["`Link` names a next page"] : []
            signs += response.fields.signsOfMore(than: fetched.rows.count)
            signs += fetched.document.signsOfMore(than: fetched.rows.count)
            if signs.isEmpty, isUnpaged, Self.pageSizes.contains(fetched.rows.count) {
                signs = ["\(fetched.rows.count) are what a full page often has"]
            }
            let reason = isUnpaged ? "the file has no `paging`" : "`paging` finds no next page"
            warnings += signs.map { "There may be more rows: \($0), and \(reason)." }
        }
        try add(to: &report, connected, fetched.document, try connected.rows.items(fetched.document), warnings)
        report["further"] = .bool(fetched.next != nil)
    }

    /// Sizes of pages that services like.
    private static let pageSizes: Set<Int> = [10, 20, 25, 30, 50, 100, 200, 250, 500, 1_000]

    private func add(
        to report: inout WireDictionary, _ connected: ConnectedEntity, _ document: WireValue, _ items: [WireValue],
        _ warnings: [String]
    ) throws {
        let rules = try EntityRules(connected.entity)
        let authorship = Authorship(author: Principal.system.name, time: clock.now(), position: Revision(0))
        let keyField = connected.entity.key.field
        var (rows, problems, fitting, deleted) = ([WireValue](), Problems(), 0, 0)
        var keys: Set<RecordID> = []
        for (index, item) in items.enumerated() {
            let says = connected.rows.deletion(item)
            guard says != .deleted else {
                deleted += 1
                continue
            }
            let row = try connected.rows.row(item)
            let key = row[keyField.text]
            if says == .unreadable {
                problems.add(index + 1, key, keyField, "What stands at `deleted` is neither true, false nor a date.")
            }
            var (taken, isWhole) = (WireDictionary(), true)
            for field in connected.entity.fields {
                let value = row[field.name.text] ?? .null
                if value.isNull {
                    if field.isRequired {
                        problems.add(index + 1, key, field.name, "\(field.name) is missing.")
                        isWhole = false
                    }
                    continue
                }
                do throws(PorticoError) {
                    try field.shape.check(value, at: field.name.text)
                    taken[field.name.text] = value
                } catch {
                    problems.add(index + 1, key, field.name, "\(error.message) It is \(value.kindInWords).")
                    isWhole = false
                }
            }
            guard isWhole else { continue }
            do throws(PorticoError) {
                let draft = try rules.create(nil, taken, authorship)
                if let id = draft.id, !keys.insert(id).inserted {
                    problems.add(index + 1, key, keyField, "An earlier row has this key too.")
                }
                fitting += 1
                if rows.count < shown { rows.append(.dictionary(draft.fields)) }
            } catch {
                problems.add(index + 1, key, keyField, error.message)
            }
        }
        let absent = connected.rows.fields.filter { field in
            !items.isEmpty
                && items.allSatisfy { field.from.value(in: $0, isXML: connected.rows.format == .xml) == nil }
        }
        let absences = absent.map { "No row has anything at \($0.from), from where the field \($0.name) is read." }
        report["fetched"] = .int64(Int64(items.count))
        report["deleted"] = .int64(Int64(deleted))
        report["rows"] = .array(rows)
        report["problems"] = .array(problems.all.map(\.value))
        report["warnings"] = .array((warnings + absences).map { .string($0) })
        report["unused"] = .array(unusedMembers(items, connected.rows).map { .string($0) })
        if report["usable"] == nil { report["usable"] = .bool(items.isEmpty || fitting + deleted > 0) }
    }

    /// The members of the first rows that nothing takes.
    private func unusedMembers(_ items: [WireValue], _ mapping: RowMapping) -> [String] {
        var known = Set((mapping.fields.map(\.from) + [mapping.deleted].compactMap { $0 }).compactMap(\.tokens.first))
        return items.prefix(Self.mostProblems).flatMap { $0.dictionaryValue?.keys ?? [] }
            .filter { known.insert($0).inserted }
    }

    /// Problems of rows; the same one of several rows is one.
    private struct Problems {
        struct Problem {
            let row: Int
            let key: WireValue?
            let field: FieldName
            let reason: String
            var count = 1

            var value: WireValue {
                [
                    "count": .int64(Int64(count)), "row": .int64(Int64(row)), "key": key ?? .null,
                    "field": .string(field.text), "reason": .string(reason),
                ]
            }
        }

        private(set) var all: [Problem] = []

        mutating func add(_ row: Int, _ key: WireValue?, _ field: FieldName, _ reason: String) {
            if let index = all.firstIndex(where: { $0.field == field && $0.reason == reason }) {
                all[index].count += 1
            } else if all.count < ConnectionTrial.mostProblems {
                all.append(Problem(row: row, key: key, field: field, reason: reason))
            }
        }
    }
}

extension UpstreamFailure.Kind {
    /// A hint to the part of the upstream's configuration that it depends on.
    fileprivate func hint(_ upstream: UpstreamName?) -> String {
        switch self {
        case .destinationRefused: "; see `networks` of the upstream \(upstream?.text ?? "")"
        case .credentialsRefused, .signInRequired: "; see `credentials` of the upstream \(upstream?.text ?? "")"
        default: ""
        }
    }
}

extension MirrorRefusal {
    /// With the places of the lists that the answer has, where the one that was asked for is not there.
    fileprivate func naming(
        listsOf response: UpstreamResponse, _ mapping: RowMapping, _ upstream: UpstreamName
    ) throws -> MirrorRefusal {
        guard let document = try? response.document(mapping, of: upstream),
            (try? mapping.items(document)) == nil, (try? mapping.checkSuccess(document)) != nil
        else { return self }
        let lists = document.places { $0.arrayValue != nil }.map { $0.isEmpty ? "the root" : $0 }
        return MirrorRefusal(
            kind,
            "\(detail): see `list`; "
                + (lists.isEmpty ? "the answer has none" : "there is one at \(lists.joined(separator: ", "))"))
    }
}

extension UpstreamHeaders {
    /// Names, without `X-`, that services have for the number of all rows and for what leads to the next page.
    private static let totalNames: Set<String> = [
        "total", "total-count", "total-records", "total-objects", "total-items", "total-results", "result-count",
    ]
    private static let nextNames: Set<String> = [
        "next", "next-page", "next-link", "next-url", "next-cursor", "next-token",
    ]

    /// Signs in the header fields of an answer that it has not all rows.
    fileprivate func signsOfMore(than count: Int) -> [String] {
        all.compactMap { name, value in
            let lower = name.lowercased()
            let plain = lower.hasPrefix("x-") ? String(lower.dropFirst(2)) : lower
            if Self.totalNames.contains(plain), let number = Int(value), number > count {
                return "`\(name)` is \(number)"
            }
            return Self.nextNames.contains(plain) && !value.isEmpty ? "`\(name)` names a next page" : nil
        }
    }
}

extension WireValue {
    /// Names that services have for the number of all rows and for what leads to the next page.
    private static let nextNames: Set<String> = [
        "next", "nextpage", "nextlink", "nexturl", "nextcursor", "cursor", "nextpagetoken", "nexttoken", "continuation",
        "continuationtoken", "hasmore", "more", "hasnext", "hasnextpage",
    ]

    /// Signs in an answer that it has not all rows.
    fileprivate func signsOfMore(than count: Int) -> [String] {
        members().compactMap { place, name, value in
            let plain = name.lowercased().filter(\.isLetter)
            if plain.contains("total") || plain == "count" || plain == "odatacount" {
                guard let number = value.int64Value, number > count else { return nil }
                return "\(place) is \(number)"
            }
            guard Self.nextNames.contains(plain.hasPrefix("odata") ? String(plain.dropFirst(5)) : plain) else {
                return nil
            }
            switch value {
            case .bool(true): return "\(place) is true"
            case .string(let text): return text.isEmpty ? nil : "\(place) is a text"
            case .int64: return "\(place) is a number"
            default: return nil
            }
        }
    }

    /// Members of the document and of the dictionaries in it, with their places; nothing of lists.
    private func members(_ place: String = "", depth: Int = 0) -> [(place: String, name: String, value: WireValue)] {
        guard depth < 2, let dictionary = dictionaryValue else { return [] }
        return dictionary.entries.flatMap { entry in
            let inner = "\(place)/\(entry.key)"
            return [(inner, entry.key, entry.value)] + entry.value.members(inner, depth: depth + 1)
        }
    }

    /// The places of such values: the document, its members and theirs.
    fileprivate func places(where isWanted: (WireValue) -> Bool) -> [String] {
        (isWanted(self) ? [""] : []) + members().filter { isWanted($0.value) }.map(\.place)
    }
}
