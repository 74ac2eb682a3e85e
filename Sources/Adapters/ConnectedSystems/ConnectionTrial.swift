import AdapterKit

/// Fetches one page of each entity of a connection and shows its rows as they would be stored. Nothing is stored.
public struct ConnectionTrial: Sendable {
    /// What does not fit is shown for so many rows.
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

    /// What came of an entity: `entity`, `address` or `file`, `rows` as they would be stored, `fetched`, `further` (whether
    /// there is another page), `problems` (`row`, `field`, `reason`), `unused` members; or `failure`.
    public func report(_ name: EntityName) async -> WireDictionary {
        guard let connected = connection.entities.first(where: { $0.name == name }) else {
            return ["entity": .string(name.text)]
        }
        var report: WireDictionary = ["entity": .string(name.text)]
        do {
            if let file = connected.file(in: directory, connection.revision) {
                report["file"] = .string(file.path)
                try add(to: &report, connected, try file.document())
            } else {
                try await fetch(connected, &report)
            }
        } catch let refusal as MirrorRefusal {
            report["failure"] = .string(refusal.detail)
        } catch let problem as Template.Problem {
            report["failure"] = .string(problem.message)
        } catch let failure as UpstreamFailure {
            report["failure"] = .string("\(failure.kind.rawValue): \(failure.detail)")
        } catch let error as PorticoError {
            report["failure"] = .string(error.logDetail ?? error.message)
        } catch {
            report["failure"] = .string("\(error)")
        }
        return report
    }

    private func fetch(_ connected: ConnectedEntity, _ report: inout WireDictionary) async throws {
        guard case .address(let request) = connected.source, let upstream else {
            throw PorticoError(.adapterUnavailable, "The connection names no upstream.")
        }
        let source = EntitySource(
            connected: connected, request: request, upstream: upstream, headers: connection.headers, clock: clock,
            revision: connection.revision)
        report["address"] = .string(try source.pageRequest(PagePosition(), nil).address.logged)
        let fetched = try await source.fetch(PagePosition(), nil)
        try add(to: &report, connected, fetched.document)
        report["further"] = .bool(fetched.next != nil)
    }

    private func add(to report: inout WireDictionary, _ connected: ConnectedEntity, _ document: WireValue) throws {
        let items = try connected.rows.items(document)
        let rules = try EntityRules(connected.entity)
        let authorship = Authorship(author: Principal.system.name, time: clock.now(), position: Revision(0))
        var (rows, problems): ([WireValue], [WireValue]) = ([], [])
        var keys: [RecordID: Int] = [:]
        func problem(_ row: Int, _ field: FieldName?, _ reason: String) {
            guard problems.count < Self.mostProblems else { return }
            problems.append([
                "row": .int64(Int64(row)), "field": field.map { .string($0.text) } ?? .null, "reason": .string(reason),
            ])
        }
        for (index, item) in items.enumerated() {
            let row = try connected.rows.row(item)
            var (taken, isWhole) = (WireDictionary(), true)
            for field in connected.entity.fields {
                let value = row[field.name.text] ?? .null
                if value.isNull {
                    if field.isRequired {
                        problem(index + 1, field.name, "\(field.name) is missing.")
                        isWhole = false
                    }
                    continue
                }
                do throws(PorticoError) {
                    try field.shape.check(value, at: field.name.text)
                    taken[field.name.text] = value
                } catch {
                    problem(index + 1, field.name, "\(error.message) It is \(value.kindName).")
                    isWhole = false
                }
            }
            guard isWhole else { continue }
            do throws(PorticoError) {
                let draft = try rules.create(nil, taken, authorship)
                if let id = draft.id, let first = keys.updateValue(index + 1, forKey: id) {
                    problem(index + 1, connected.entity.key.field, "The key is that of row \(first) too.")
                }
                if rows.count < shown { rows.append(.dictionary(draft.fields)) }
            } catch {
                problem(index + 1, connected.entity.key.field, error.message)
            }
        }
        report["fetched"] = .int64(Int64(items.count))
        report["rows"] = .array(rows)
        report["problems"] = .array(problems)
        report["unused"] = .array(unused(items.first, connected.rows).map { .string($0) })
    }

    /// The members of the first row that no field takes.
    private func unused(_ item: WireValue?, _ mapping: RowMapping) -> [String] {
        let used = Set(mapping.fields.compactMap(\.from.tokens.first))
        return (item?.dictionaryValue?.keys ?? []).filter { !used.contains($0) }
    }
}

extension WireValue {
    /// What it is, without what it says.
    fileprivate var kindName: String {
        switch self {
        case .null: "null"
        case .bool: "true or false"
        case .int64, .uint64: "an integer"
        case .double, .decimal: "a number"
        case .string: "a text"
        case .data: "bytes"
        case .date: "a date"
        case .array: "a list"
        case .dictionary: "a dictionary"
        case .uid: "a reference"
        }
    }
}
