import AdapterKit
import HostConfiguration

/// A system that is connected by a file instead of code: what the file says, checked.
public struct Connection: Sendable {
    /// The name to show to people.
    public let title: String
    /// One sentence that says what the adapter offers.
    public let summary: String
    /// The system, and where the file names it; nil: every entity is a file.
    public let upstream: (name: UpstreamName, location: ConfigurationLocation)?
    /// The rights to read and write, where the configuration does not say.
    public let access: AccessRights
    /// Paths of files with rows, absolute or from the connection file's folder on.
    public var files: [String] {
        entities.compactMap { if case .file(let path) = $0.source { path } else { nil } }
    }
    let headers: [(name: String, value: String)]
    let entities: [ConnectedEntity]
    let operations: [ConnectedOperation]
    /// Distinguishes states of the file: what rows were read by another one, is read again.
    let revision: String
    /// Warnings: what works and probably loses something in the other system.
    public let warnings: [ConfigurationError]
    /// Remarks that its author may want to know, and the log need not repeat.
    public let remarks: [ConfigurationError]
}

/// 64 bits of FNV-1a, the same in every process. Not for what an attacker chooses.
struct Fingerprint {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func add(_ text: some StringProtocol) {
        for byte in text.utf8 { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
        // Between texts, a byte that UTF-8 does not have.
        value = (value ^ 0xff) &* 0x100_0000_01b3
    }
}

/// An entity whose rows are in another system or in a file.
struct ConnectedEntity: Sendable {
    enum Source: Sendable, Equatable {
        /// An address. Only literal parts of its template are filled in.
        case address(RequestTemplate)
        /// A path, absolute or relative to the connection file.
        case file(String)
    }

    let entity: Entity
    let source: Source
    let rows: RowMapping
    let paging: Paging
    let changes: ConnectedChangeTracking?
    let record: RequestTemplate?
    let write: WriteTemplates?
    let settings: MirrorSettings

    var name: EntityName { entity.name }
}

/// The way in which changes since the last refresh are asked for.
struct ConnectedChangeTracking: Sendable, Equatable {
    let field: FieldMapping
    let query: [RequestTemplate.QueryMember]
    /// After how long every row is fetched.
    let full: Duration
}

/// The requests that make callers' changes in the other system; nil: it takes no such change.
struct WriteTemplates: Sendable, Equatable {
    let writing: MirrorSource.Writing
    let honoursIdempotencyKeys: Bool
    let create: RequestTemplate?
    let update: RequestTemplate?
    let delete: RequestTemplate?

    /// An update that creates the record where there is none (RFC 9110, section 9.3.4).
    var putting: RequestTemplate? { update.flatMap { $0.method == .put ? $0 : nil } }

    /// The changes for which there is a request.
    var changes: Set<MirrorChange.Kind> {
        Set(
            MirrorChange.Kind.allCases.filter { kind in
                [true, false].contains { template(kind, isNew: $0) != nil }
            })
    }
}

/// An operation that asks the other system each time.
struct ConnectedOperation: Sendable {
    let operation: Operation
    let request: RequestTemplate
    let input: [FieldMapping]
    let answer: RowMapping
    /// Whether it answers `items`.
    let isList: Bool

    static let items: FieldName = "items"
}

extension Connection {
    /// The declaration of the adapter of this name.
    public func declaration(named name: AdapterName) -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: title, summary: summary, version: "1.0", access: access,
            entities: entities.map(\.entity), operations: operations.map(\.operation),
            mirrors: entities.map { mirror(of: $0, name) }, rules: ConnectedRules(entities: entities))
    }

    private func mirror(of connected: ConnectedEntity, _ name: AdapterName) -> MirrorSource {
        let isIncremental: Bool
        if case .file = connected.source { isIncremental = true } else { isIncremental = connected.changes != nil }
        return MirrorSource(
            connected.name,
            // A file is its own system; both kinds of names have one grammar.
            of: isFile(connected)
                ? UpstreamName(unchecked: name.text) : upstream?.name ?? UpstreamName(unchecked: name.text),
            reading: isIncremental ? .increments : .snapshot, writing: connected.write?.writing ?? .none,
            changes: connected.write?.changes ?? [],
            honoursIdempotencyKeys: connected.write?.honoursIdempotencyKeys ?? false, settings: connected.settings)
    }

    private func isFile(_ connected: ConnectedEntity) -> Bool {
        if case .file = connected.source { true } else { false }
    }
}
