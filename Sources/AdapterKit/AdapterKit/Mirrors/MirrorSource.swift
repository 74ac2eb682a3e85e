/// Says that the truth of an entity is in another system, and what the host may do with it there.
///
/// The records of such an entity are a mirror: the host fetches them with ``Adapter/readMirror(_:)``, compares them with
/// those that it has, and stores what differs. Everything that reads records works on them, whether the other system
/// answers or not. What callers change of them goes to the other system, where ``writing`` allows it.
public struct MirrorSource: Sendable, Equatable {
    /// The way in which the other system gives its rows.
    public enum Reading: Sendable, Equatable {
        /// All of them, page by page, each time.
        case snapshot
        /// All of them once, and from then on what has changed since a cursor.
        case increments
    }

    /// The way in which callers' changes reach the other system.
    public enum Writing: String, Sendable, CaseIterable {
        /// Callers change nothing.
        case none
        /// A change over HTTP is made in the other system first, and stored as that answers. Changes of devices are queued.
        case through
        /// A change is stored at once, and made in the other system later.
        case queued
    }

    /// The entity that is mirrored. Callers can create records of it whose ids are chosen by themselves.
    public let entity: EntityName
    /// The way in which the other system gives its rows.
    public let reading: Reading
    /// The way in which callers' changes reach the other system.
    public let writing: Writing
    /// The kinds of changes that the other system takes, where ``writing`` allows any; others are not offered to callers.
    public let changes: Set<MirrorChange.Kind>
    /// Whether the other system makes a change once, however often it gets its `Idempotency-Key`. Where it does not, a
    /// change whose outcome is unknown is never sent again.
    public let honoursIdempotencyKeys: Bool
    /// The other system, by the name that errors give it.
    public let upstream: UpstreamName
    /// When the rows are fetched, and how old they may be.
    public let settings: MirrorSettings
    /// Whether the rows may belong to single callers (``AdapterDeclaration/keepingRowsOfCallers(of:)``): the adapter fetches
    /// them for ``MirrorRequest/caller``, reads them through the caller's records alone, and finds them by their fields, not
    /// by their ids.
    public let supportsRowsOfCallers: Bool
    /// An entity of the adapter one of whose records is made of this mirror: the one whose id is the mirror's entity. The
    /// answers with it are as old as the mirror. Nil: there is none.
    public let derivedEntity: EntityName?
    /// The field with the other system's key, for rows that belong to single callers. Nil: all callers share the rows.
    public internal(set) var callerKey: FieldName?

    /// Declares the mirror of an entity.
    public init(
        _ entity: EntityName, of upstream: UpstreamName, reading: Reading = .snapshot, writing: Writing = .none,
        changes: Set<MirrorChange.Kind> = Set(MirrorChange.Kind.allCases), honoursIdempotencyKeys: Bool = false,
        supportsRowsOfCallers: Bool = false, derivedEntity: EntityName? = nil,
        settings: MirrorSettings = MirrorSettings()
    ) {
        self.entity = entity
        self.upstream = upstream
        self.reading = reading
        self.writing = writing
        self.changes = changes
        self.honoursIdempotencyKeys = honoursIdempotencyKeys
        self.supportsRowsOfCallers = supportsRowsOfCallers
        self.derivedEntity = derivedEntity
        self.settings = settings
    }
}

/// When a mirror is fetched, and how old its rows may be.
public struct MirrorSettings: Sendable, Equatable {
    /// A refresh that would change or delete a larger share of the records is held back. From how many records on.
    public struct Guard: Sendable, Equatable {
        /// From 0 to 1.
        public var share: Double
        /// With fewer records nothing is held back.
        public var from: Int

        /// Creates a guard with these values.
        public init(share: Double = 0.5, from: Int = 20) {
            self.share = share
            self.from = from
        }
    }

    /// Up to this age a read asks for no refresh.
    public var freshFor: Duration
    /// Beyond this age rows are not served over HTTP.
    public var staleFor: Duration
    /// The time that a read over HTTP waits for a refresh.
    public var waitFor: Duration
    /// The time after a refresh at which the next one begins by itself; nil: none does.
    public var refresh: Duration?
    /// The rule of what is held back.
    public var `guard`: Guard
    /// Limits of rows that belong to single callers.
    public var callers: Callers

    /// The number of rows kept that belong to single callers.
    public struct Callers: Sendable, Equatable {
        /// The largest ``rows``, so that one caller's rows change in one transaction.
        public static let mostRows = 2_500
        /// Sign-ins whose rows are kept at most; those that were used longest ago go first.
        public var count: Int
        /// Rows of one caller at most; a refresh that brings more fails.
        public var rows: Int

        /// Creates limits with these values.
        public init(count: Int = 1_000, rows: Int = Self.mostRows) {
            self.count = count
            self.rows = rows
        }
    }

    /// Creates settings with these values.
    public init(
        freshFor: Duration = .seconds(300), staleFor: Duration = .seconds(7 * 86_400),
        waitFor: Duration = .seconds(2), refresh: Duration? = nil, guard: Guard = Guard(),
        callers: Callers = Callers()
    ) {
        self.freshFor = freshFor
        self.staleFor = staleFor
        self.waitFor = waitFor
        self.refresh = refresh
        self.guard = `guard`
        self.callers = callers
    }
}

/// Asks an adapter for a part of what another system has.
public struct MirrorRequest: Sendable, Equatable {
    /// The entity that is mirrored.
    public let entity: EntityName
    /// ``MirrorPage/next`` of the page before; nil: the first page.
    public let page: String?
    /// ``MirrorPage/cursor`` of the last refresh, since which changes are asked for; nil: every row is. Given for sources
    /// of ``MirrorSource/Reading/increments`` alone.
    public let since: String?
    /// In whose name the other system is asked, where ``Upstream/actsForCallers``; nil: in the system's own.
    public let caller: Principal?
    /// The ``UpstreamRequest/deadline`` of each call; nil: the upstream's own. No caller waits for a page.
    public let deadline: Duration?

    /// Creates a request with these values.
    public init(
        _ entity: EntityName, page: String? = nil, since: String? = nil, caller: Principal? = nil,
        deadline: Duration? = nil
    ) {
        self.entity = entity
        self.page = page
        self.since = since
        self.caller = caller
        self.deadline = deadline
    }
}

/// A part of what another system has.
public struct MirrorPage: Sendable, Equatable {
    /// Rows by the entity's field names. Members that are no fields are reported and left out; what does not fit its field
    /// is reported, and the record that is there stays as it is.
    public var rows: [WireDictionary]
    /// Records that are gone; of increments alone.
    public var removed: [RecordID]
    /// The text that the next page is asked for with; nil: this is the last one.
    public var next: String?
    /// With the last page of a source of increments: since what changes are to be asked for next.
    public var cursor: String?
    /// The age of the rows when they came, where the other system serves what it keeps itself
    /// (``UpstreamResponse/age``). The records are older by that; never negative.
    public var age: Duration

    /// Creates a page with these values.
    public init(
        _ rows: [WireDictionary], removed: [RecordID] = [], next: String? = nil, cursor: String? = nil,
        age: Duration = .zero
    ) {
        self.age = age
        self.rows = rows
        self.removed = removed
        self.next = next
        self.cursor = cursor
    }
}

extension MirrorPage {
    private static let reason = "unreadable"

    /// Stands in a row for a value that the adapter could not read as the field's, where the field takes no dictionary: the host
    /// reports the field with this reason.
    public static func unreadable(because reason: String) -> WireValue { [self.reason: .string(reason)] }

    /// The reason of ``unreadable(because:)``; nil: it is a value.
    public static func reason(of value: WireValue) -> String? {
        guard let members = value.dictionaryValue, members.count == 1 else { return nil }
        return members[reason]?.stringValue
    }
}

/// An answer of another system that cannot be what was asked for, although it came in time and without an error: nothing
/// of it is taken, and the mirror says so until a later answer is good.
public struct MirrorRefusal: Error, Sendable, Equatable {
    /// A kind of problem.
    public enum Kind: String, Sendable, CaseIterable {
        /// It has another media type.
        case mediaType
        /// It is a page for a browser, or leads to one: mostly a login.
        case loginPage
        /// It ends too early, or is no document of its type.
        case malformed
        /// It is a document of its type, but says something else than was asked.
        case unexpected
    }

    /// The kind of the problem.
    public let kind: Kind
    /// For operators; it names no secret and quotes no value.
    public let detail: String

    /// Creates a refusal with these values.
    public init(_ kind: Kind, _ detail: String) {
        self.kind = kind
        self.detail = detail
    }
}

extension UpstreamResponse {
    /// The body of an answer that is a success and has one of these media types, parameters aside.
    ///
    /// Throws `upstream.failed` for a status that says that the request failed, and ``MirrorRefusal`` for a redirect, for
    /// another media type and for an empty body.
    ///
    /// - Parameter words: What the system says of a failure, for operators: 300 characters of it, in one line.
    public func document(
        _ mediaTypes: Set<String>, of upstream: UpstreamName, quoting words: @autoclosure () -> String? = nil
    ) throws -> [UInt8] {
        let target = address.logged
        if (300..<400).contains(status) {
            throw MirrorRefusal(.loginPage, "\(target) answered \(status) and leads elsewhere")
        }
        // A part is not the whole (RFC 9110, section 15.3.7), and 204 and 205 have nothing.
        guard ![204, 205, 206].contains(status) else {
            throw MirrorRefusal(.unexpected, "\(target) answered \(status)")
        }
        guard isSuccess else {
            let said = words()?.asWordsOfAnother.map { "; it says: \($0)" } ?? ""
            throw PorticoError(
                .upstreamFailed, "The system \(upstream) could not be asked.",
                logDetail: "\(target) answered \(status)\(said)")
        }
        let found = (fields["Content-Type"] ?? "").mediaTypeName
        guard mediaTypes.contains(found) else {
            let isPage = found == "text/html" || found == "application/xhtml+xml"
            let shown = found.utf8.count <= 100 && found.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f } ? found : "another"
            throw MirrorRefusal(
                isPage ? .loginPage : .mediaType, "\(target) answered \(shown.isEmpty ? "no media type" : shown)")
        }
        guard !body.isEmpty else { throw MirrorRefusal(.malformed, "\(target) answered an empty body") }
        return body
    }
}
