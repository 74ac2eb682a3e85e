import AdapterKit
import SyncSimulator

/// The other system of a run: what its rows are, and how it answers.
struct SimulatedUpstream {
    /// How it answers at the time.
    enum Behavior: CaseIterable {
        case well
        /// Connections are refused.
        case down
        /// Answers take longer than the caller waits.
        case slow
        /// Status 503.
        case failing
        /// One page in three goes wrong in one way or another.
        case shaky
        /// It says that it has no rows.
        case empty
        /// It says that it has only a part of its rows.
        case partial
    }

    /// One page in which something is wrong.
    enum PageFault: CaseIterable {
        case timeout, reset, status, loginPage, garbage, truncated
    }

    /// What is answered to one refresh: one state, whatever happens between its pages.
    struct Serving {
        let number: Int
        /// The state that it is, or pretends to be.
        let version: Int
        /// The version since which changes are answered; nil: every row is.
        let since: Int?
        let rows: [String: WireDictionary]
        let removed: [String]
        /// Whether it has every row of the version, or every change.
        let isHonest: Bool

        /// What a mirror with these rows has once it took all of it.
        func result(on known: [String: WireDictionary]) -> [String: WireDictionary] {
            var result = since == nil ? known.filter { rows[$0.key] != nil } : known
            for id in removed { result[id] = nil }
            // A row that does not fit leaves the record that is there alone.
            for (id, row) in rows where SimulatedUpstream.fits(row) { result[id] = row }
            return result
        }
    }

    static let people = ["ann", "bob", "cal"]
    private static let names = ["Zoë", "Ben", "Müller", "Ito", "René", "Khan"]

    var behavior = Behavior.well
    private(set) var rows: [String: WireDictionary] = [:]
    /// The rows of each version, and the time from which on they were the truth.
    private(set) var history: [(rows: [String: WireDictionary], since: Int)] = []
    /// Cursors of versions before it are forgotten.
    private var oldestCursor = 0
    private var made = 0
    private(set) var servings: [Serving] = []
    private(set) var requests = 0

    init(_ random: inout SeededRandom, rows count: Int) {
        for _ in 0..<count { create(&random) }
        history = [(rows, 0)]
    }

    var version: Int { history.count - 1 }

    /// The last version that was the truth at a time.
    func version(at time: Int) -> Int { history.lastIndex { $0.since <= time } ?? 0 }

    static func fits(_ row: WireDictionary) -> Bool { row["name"]?.stringValue != nil }

    // MARK: Its own life

    mutating func edit(_ random: inout SeededRandom, at time: Int) -> String {
        let choice = random.below(100)
        let ids = rows.keys.sorted()
        let what: String
        switch choice {
        case 0..<30:
            create(&random)
            what = "a row more"
        case 30..<65:
            guard let id = random.pick(ids) else { return "nothing to change" }
            rows[id] = Self.row(id, &random)
            what = "\(id) changes"
        case 65..<80:
            guard let id = random.pick(ids) else { return "nothing to delete" }
            rows[id] = nil
            what = "\(id) goes"
        case 80..<88:
            // Canonically the same text, in other bytes.
            for id in ids { rows[id] = rows[id].map { Self.respelled($0) } }
            what = "other spelling"
        case 88..<94:
            guard let id = random.pick(ids) else { return "nothing to spoil" }
            rows[id]?["name"] = 7
            what = "\(id) does not fit"
        default:
            for id in ids where random.chance(60) { rows[id] = nil }
            what = "most rows go"
        }
        history.append((rows, time))
        return what
    }

    /// Every row fits again.
    mutating func mend(_ random: inout SeededRandom, at time: Int) {
        for (id, row) in rows.sorted(by: { $0.key < $1.key }) where !Self.fits(row) { rows[id] = Self.row(id, &random) }
        history.append((rows, time))
    }

    mutating func forgetCursors() { oldestCursor = version + 1 }

    private mutating func create(_ random: inout SeededRandom) {
        made += 1
        let id = "p\(made)"
        rows[id] = Self.row(id, &random)
    }

    private static func row(_ id: String, _ random: inout SeededRandom) -> WireDictionary {
        let readers = people.filter { _ in random.chance(50) }.map(WireValue.string)
        let name = (random.pick(names) ?? "") + " \(random.below(1_000))"
        return ["id": .string(id), "name": .string(name), "readers": .array(readers)]
    }

    private static func respelled(_ row: WireDictionary) -> WireDictionary {
        guard let name = row["name"]?.stringValue else { return row }
        var row = row
        let composed = name.unicodeScalars.contains("ë") || name.unicodeScalars.contains("é")
        row["name"] = .string(
            composed
                ? name.replacing("ë", with: "e\u{308}").replacing("é", with: "e\u{301}")
                : name.replacing("e\u{308}", with: "ë").replacing("e\u{301}", with: "é"))
        return row
    }

    // MARK: Its answers

    /// One page of an adapter's source over this system. Throws what such a source throws.
    mutating func page(
        _ request: MirrorRequest, size: Int, isCredulous: (PageFault) -> Bool, _ random: inout SeededRandom
    ) throws -> MirrorPage {
        requests += 1
        switch behavior {
        case .down: throw UpstreamFailure(.unreachable, of: "hr")
        case .slow: throw UpstreamFailure(.timedOut, of: "hr")
        case .failing: throw PorticoError(.upstreamFailed, "The system hr could not be asked.")
        case .well, .shaky, .empty, .partial: break
        }
        let fault = behavior == .shaky && random.chance(33) ? random.pick(PageFault.allCases) : nil
        let serving = try serving(of: request, &random)
        switch fault {
        case .timeout: throw UpstreamFailure(.timedOut, of: "hr")
        case .reset: throw UpstreamFailure(.broken, of: "hr")
        case .status: throw PorticoError(.upstreamFailed, "The system hr could not be asked.")
        case .loginPage where isCredulous(.loginPage): return MirrorPage([], cursor: String(serving.version))
        case .loginPage: throw MirrorRefusal(.loginPage, "a page")
        case .garbage: throw MirrorRefusal(.malformed, "no document")
        case .truncated, nil: break
        }
        let offset = request.page.flatMap { $0.split(separator: ":").last.flatMap { Int($0) } } ?? 0
        let ids = serving.rows.keys.sorted()
        var part = Array(ids.dropFirst(offset).prefix(size))
        let isLast = offset + part.count >= ids.count
        if fault == .truncated {
            // A source compares the rows with the number that the answer gives.
            guard isCredulous(.truncated) else { throw MirrorRefusal(.malformed, "fewer rows than it says") }
            part = Array(part.prefix(part.count / 2))
            return MirrorPage(part.compactMap { serving.rows[$0] }, cursor: String(serving.version))
        }
        return MirrorPage(
            part.compactMap { serving.rows[$0] },
            removed: offset == 0 ? serving.removed.map { RecordID(unchecked: $0) } : [],
            next: isLast ? nil : "\(serving.number):\(offset + part.count)",
            cursor: isLast ? String(serving.version) : nil)
    }

    /// The first page of a refresh decides which state all of its pages are of.
    private mutating func serving(of request: MirrorRequest, _ random: inout SeededRandom) throws -> Serving {
        if let page = request.page {
            guard let number = page.split(separator: ":").first.flatMap({ Int($0) }),
                let serving = servings.last, serving.number == number
            else { throw PorticoError(.upstreamFailed, "The system hr could not be asked.") }
            return serving
        }
        var claimed = rows
        switch behavior {
        case .empty: claimed = [:]
        case .partial: for id in rows.keys.sorted() where random.chance(40) { claimed[id] = nil }
        default: break
        }
        var since: Int?
        var removed: [String] = []
        if let cursor = request.since {
            guard let known = Int(cursor), known >= oldestCursor, known <= version else {
                throw PorticoError(.fetchAgain, "The cursor is not known.")
            }
            since = known
            let before = history[known].rows
            // Increments tell the truth: a system that has lost its rows has no changes to tell.
            claimed = rows.filter { before[$0.key] != $0.value }
            removed = before.keys.filter { rows[$0] == nil }.sorted()
        }
        let serving = Serving(
            number: servings.count, version: version, since: since, rows: claimed, removed: removed,
            isHonest: since != nil || claimed.count == rows.count)
        servings.append(serving)
        return serving
    }
}
