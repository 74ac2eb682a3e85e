import AdapterKit
import RecordStorage

/// The limits of one refresh. A source whose pages never end is cut off there, before it fills the disk.
public struct RefreshLimits: Sendable, Equatable {
    /// Rows of all pages.
    public var rows = 5_000_000
    /// Bytes of the rows' values and names in memory, about as many as they take where they are staged.
    public var bytes = 4 << 30
    /// Pages without rows, one after the other.
    public var emptyPages = 1_000
    /// From the first page asked for to the last one answered.
    public var time = Duration.seconds(6 * 60 * 60)

    /// Creates the limits that hold where nothing else is said.
    public init() {}
}

/// Fetches one state of another system and makes the records that: page by page into a staged snapshot, which takes
/// effect as a whole or not at all.
package struct MirrorRefresh: Sendable {
    /// Removals of one refresh of increments, which are in memory; beyond them every row is fetched.
    static let mostRemovals = 100_000
    /// The longest time of a page's call; the upstream's `limits.longDeadline` bounds it further.
    static let pageDeadline = Duration.seconds(3_600)

    let collection: CollectionDeclaration
    let source: MirrorSource
    /// ``MirrorStore/beginReplacement(of:)`` of the store.
    let beginReplacement: @Sendable (CollectionID) async throws -> any RecordReplacement
    let read: Mirror.Reading
    let clock: any WallClock
    /// The present rule of what is held back.
    let currentGuard: @Sendable () -> MirrorSettings.Guard
    /// Protects callers' changes; nil: there are none.
    let protection: RefreshProtection?
    let limits: RefreshLimits

    package init(
        collection: CollectionDeclaration, source: MirrorSource,
        beginReplacement: @escaping @Sendable (CollectionID) async throws -> any RecordReplacement,
        read: @escaping Mirror.Reading, clock: any WallClock, protection: RefreshProtection? = nil,
        limits: RefreshLimits = RefreshLimits(), currentGuard: (@Sendable () -> MirrorSettings.Guard)? = nil
    ) {
        self.currentGuard = currentGuard ?? { source.settings.guard }
        self.collection = collection
        self.source = source
        self.beginReplacement = beginReplacement
        self.read = read
        self.clock = clock
        self.protection = protection
        self.limits = limits
    }

    /// A snapshot that is held back, with what releasing it takes.
    package struct Held: Sendable {
        package let replacement: any RecordReplacement
        package let options: ReplacementOptions
        package let summary: RefreshSummary
    }

    package enum Result: Sendable {
        case done(RefreshSummary, MirrorState)
        case held(HeldRefresh, Held)
    }

    /// Throws ``MirrorRefusal``, ``UpstreamFailure`` and ``PorticoError``.
    package func run(since known: MirrorState) async throws -> Result {
        do {
            return try await attempt(since: known)
        } catch is SupersededSnapshot {
            do { return try await attempt(since: known) } catch let superseded as SupersededSnapshot {
                throw superseded.error
            }
        }
    }

    private func attempt(since known: MirrorState) async throws -> Result {
        // Rows that have not changed have values of a new field too.
        guard source.reading == .increments, let cursor = known.cursor, known.addedFields(in: collection.entity).isEmpty
        else { return try await runWhole(known) }
        do {
            return try await run(since: cursor, known)
        } catch let error as PorticoError where error.code == .fetchAgain {
            return try await runWhole(known)
        } catch is UnreadableRows {
            // Whether the system's rows cannot be read, or only those that have changed, is seen in all of them.
            return try await runWhole(known)
        }
    }

    private func runWhole(_ known: MirrorState) async throws -> Result {
        do {
            return try await run(since: nil, known)
        } catch let unreadable as UnreadableRows {
            throw MirrorRefusal(.unexpected, unreadable.detail)
        }
    }

    private func run(since cursor: String?, _ known: MirrorState) async throws -> Result {
        let began = clock.now()
        protection?.beginRefresh()
        let replacement = try await beginReplacement(collection.id)
        do {
            return try await fill(replacement, since: cursor, known, began)
        } catch {
            // Whatever is left goes when the next one begins.
            try? await replacement.discard()
            throw error
        }
    }

    private func fill(
        _ replacement: any RecordReplacement, since cursor: String?, _ known: MirrorState, _ began: WireDate
    ) async throws -> Result {
        // Of increments only the rows that have changed are read again.
        var rows = try MirrorRows(
            of: collection.entity, fieldsBefore: known.fields, at: began,
            misfits: cursor == nil ? MirrorMisfits() : known.misfits)
        var removed: Set<RecordID> = []
        var request = MirrorRequest(source.entity, since: cursor, deadline: Self.pageDeadline)
        var use = RefreshUse(limits, since: began)
        var lastCursor = cursor
        let added = known.addedFields(in: collection.entity)
        var age = Duration.zero
        while true {
            try Task.checkCancellation()
            let page = try await read(request)
            age = max(age, page.age)
            try use.take(page, at: clock.now())
            removed.formUnion(page.removed)
            guard removed.count <= Self.mostRemovals else {
                throw MirrorRefusal(.unexpected, "the answers have more than \(Self.mostRemovals) removals")
            }
            let records = rows.read(page.rows)
            try await replacement.stage(
                records.rows, keeping: records.kept, StagedFields(retained: records.retained, added: added))
            for (fields, rows) in records.incomplete {
                try await replacement.stage(
                    rows, keeping: [], StagedFields(retained: records.retained.union(fields), added: added))
            }
            lastCursor = page.cursor ?? lastCursor
            guard let next = page.next else { break }
            guard next != request.page else { throw MirrorRefusal(.unexpected, "a page leads to itself") }
            request = MirrorRequest(source.entity, page: next, since: cursor, deadline: Self.pageDeadline)
        }
        if removed.isEmpty, use.rows > 0, rows.refused == use.rows {
            throw UnreadableRows(count: use.rows, drifts: rows.drifts)
        }
        var state = known
        state.asOf = began.adding(-(age / .seconds(1)))
        state.cursor = lastCursor
        state.upstream = source.upstream
        state.misfits = rows.misfits
        state.misfits.remove(removed)
        state.declared = Set(collection.entity.fields.map(\.name.text))
        // A snapshot without rows has no fields to go by.
        if use.rows > 0 {
            state.drifts = rows.drifts
            state.fields.formUnion(rows.fields)
        }
        return try await finish(
            replacement, rows, deletesMissing: cursor == nil && !rows.hasUnreadableKey, removed, state,
            began: began)
    }

    private func finish(
        _ replacement: any RecordReplacement, _ rows: MirrorRows, deletesMissing: Bool, _ removed: Set<RecordID>,
        _ state: MirrorState, began: WireDate
    ) async throws -> Result {
        var difference = try await replacement.difference()
        if !deletesMissing { difference.deleted = removed.count }
        let protection = protection
        var options = ReplacementOptions(state: state.stored) { try protection?.protectedRecords(in: $0) ?? [] }
        options.deletesMissing = deletesMissing
        options.removing = removed
        var summary = RefreshSummary(asOf: state.asOf ?? began, began: began, cursor: state.cursor)
        summary.refused = rows.refused
        summary.misfits = state.misfits.count
        summary.repeated = difference.repeated
        // Every row may get a value of a field that is new.
        let changed = difference.updated - difference.extended
        if let reason = currentGuard().refusal(changed: changed + difference.deleted, of: difference.known) {
            let detail = "\(changed) changed and \(difference.deleted) deleted of \(difference.known)"
            summary.take(difference)
            return .held(
                HeldRefresh(reason, detail: detail, time: clock.now()),
                Held(replacement: replacement, options: options, summary: summary))
        }
        do {
            summary.take(try await replacement.apply(options).difference)
        } catch let error as PorticoError where error.code == .recordConflict {
            throw SupersededSnapshot(error: error)
        }
        return .done(summary, state)
    }
}

/// The collection was declared otherwise while the snapshot was gathered.
private struct SupersededSnapshot: Error {
    let error: PorticoError
}

/// Rows came, and none could be taken: that is no state of the other system.
private struct UnreadableRows: Error {
    /// Fields that are named.
    private static let mostFields = 5

    let count: Int
    let drifts: Set<FieldDrift>

    /// For operators.
    var detail: String {
        let named = drifts.filter { $0.kind != .appeared }.sorted().prefix(Self.mostFields).map(\.description)
        let rows = count == 1 ? "the only row cannot be read" : "none of \(count) rows can be read"
        return named.isEmpty ? rows : "\(rows): \(named.joined(separator: ", "))"
    }
}

/// The part of its limits that a refresh has used.
private struct RefreshUse {
    let limits: RefreshLimits
    let began: WireDate
    private(set) var rows = 0
    private var bytes = 0
    private var emptyPages = 0

    init(_ limits: RefreshLimits, since began: WireDate) { (self.limits, self.began) = (limits, began) }

    mutating func take(_ page: MirrorPage, at now: WireDate) throws(MirrorRefusal) {
        rows += page.rows.count
        for row in page.rows { bytes += WireValue.dictionary(row).approximateBytes }
        emptyPages = page.rows.isEmpty && page.removed.isEmpty ? emptyPages + 1 : 0
        guard rows <= limits.rows else { throw limitExceeded("\(limits.rows) rows") }
        guard bytes <= limits.bytes else { throw limitExceeded("\(limits.bytes) bytes of rows") }
        guard emptyPages <= limits.emptyPages else {
            throw limitExceeded("\(limits.emptyPages) pages without rows in turn")
        }
        // A clock that was set makes it shorter or longer.
        let seconds = now.secondsSinceReferenceDate - began.secondsSinceReferenceDate
        guard page.next == nil || seconds <= limits.time / .seconds(1) else {
            throw MirrorRefusal(.unexpected, "the answers do not end within \(limits.time)")
        }
    }

    private func limitExceeded(_ limit: String) -> MirrorRefusal {
        MirrorRefusal(.unexpected, "the answers have more than \(limit)")
    }
}

extension RefreshSummary {
    mutating func take(_ difference: ReplacementDifference) {
        (created, updated, deleted) = (difference.created, difference.updated, difference.deleted)
    }
}
