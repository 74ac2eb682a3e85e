import AdapterKit
import WireFormats

/// A feed whose truth is a document of another system: `adapters.feeds.{feed}.upstream`.
///
/// Each is a mirror of its own, of an entity with the feed's name, so that it has an age, a schedule and a state of its
/// own. What the mirror has is which version was last fetched, and by which validators; the document is a version of the
/// feed like any other (docs/decisions/0366).
struct UpstreamFeed: Sendable {
    let name: FeedName
    /// Where the document is, from the upstream's address.
    let path: String
    let mirror: MirrorSource

    var upstream: UpstreamName { mirror.upstream }

    /// The entity of what was last fetched: one record.
    var entity: Entity {
        Entity(
            mirror.entity, summary: "What was last fetched of the feed.", key: EntityKey(Self.feed, chosenBy: .caller),
            fields: [
                Field(Self.feed, .string(maximumLength: 64), isRequired: true, summary: "The feed's name."),
                Field(Self.version, Versions.number, isRequired: true, summary: "The version that has the document."),
                // Texts that are there but empty: a field that no row has any more would keep its value.
                Field(Self.tag, Self.validator, isRequired: true, summary: "`ETag`; empty: none."),
                Field(Self.modified, Self.validator, isRequired: true, summary: "`Last-Modified`; empty: none."),
            ],
            rows: RowRules(read: .nobody, write: .nobody), conflictPolicy: .reject, exposure: .adapterOnly)
    }

    static let feed: FieldName = "feed"
    static let version: FieldName = "version"
    static let tag: FieldName = "tag"
    static let modified: FieldName = "modified"

    /// Longer validators are not kept, and the document is fetched whole each time.
    static let longestValidator = 1024
    private static let validator = Shape.string(maximumLength: longestValidator)
}

extension UpstreamFeed {
    /// The keys below `adapters.feeds.{feed}`.
    static let options: [ConfigurationOption] = {
        let mirrored: Set<String> = ["upstream", "freshFor", "staleFor", "waitFor", "refresh"]
        let options = MirrorSource.options.filter { mirrored.contains($0.path) }.map { option in
            let summary =
                option.path == "upstream"
                ? "The system that has the feed's document. Without it operators publish the feed." : option.summary
            return ConfigurationOption(
                "*.\(option.path)", option.valueKind, changesRecords: option.changesRecords, summary: summary)
        }
        return options + [
            ConfigurationOption(
                "*.path", .string(maximumLength: UpstreamAddress.maximumLength),
                summary: "Where the document is, from the upstream's address.")
        ]
    }()

    /// The feeds of a configuration that are fetched. Throws ``ConfigurationProblem``.
    static func all(_ configuration: AdapterConfiguration) throws -> [FeedName: UpstreamFeed] {
        var feeds: [FeedName: UpstreamFeed] = [:]
        for entry in configuration.values where !FeedName.reserved.contains(entry.key) {
            guard let name = FeedName(entry.key) else {
                throw ConfigurationProblem(entry.key, "\(entry.key) cannot be the name of a feed.")
            }
            guard let members = entry.value.dictionaryValue else { continue }
            feeds[name] = try feed(name, members)
            if let upstream = feeds[name]?.upstream, configuration.upstreamsOfCallers.contains(upstream) {
                throw ConfigurationProblem(
                    "\(name).upstream",
                    "The upstream \(upstream) is called in its callers' names, and a feed is fetched without a caller.")
            }
        }
        return feeds
    }

    private static func feed(_ name: FeedName, _ members: WireDictionary) throws -> UpstreamFeed? {
        let entity = EntityName(unchecked: name.text)
        let mirror: MirrorSource?
        do {
            mirror = try MirrorSource(entity, AdapterConfiguration(members), derivedEntity: Feeds.entityName)
        } catch let problem as ConfigurationProblem {
            throw ConfigurationProblem("\(name).\(problem.path)", problem.message)
        }
        guard let mirror else {
            for key in members.keys where key != "access" {
                throw ConfigurationProblem(
                    "\(name).\(key)", "It says how the feed is fetched, and no `upstream` where.")
            }
            return nil
        }
        guard ![Feeds.entityName, Versions.entity.name].contains(entity) else {
            throw ConfigurationProblem("\(name).upstream", "A feed of this name cannot be fetched; take another name.")
        }
        guard let path = members["path"]?.stringValue, !path.isEmpty else {
            throw ConfigurationProblem("\(name).upstream", "`path` is missing: where the document is.")
        }
        guard isBelow(path) else {
            throw ConfigurationProblem(
                "\(name).path", "This is no path from the upstream's address, such as `plists/\(name)`.")
        }
        return UpstreamFeed(name: name, path: path, mirror: mirror)
    }

    /// Whether a reference stays on the upstream's server, at or below its path.
    private static func isBelow(_ path: String) -> Bool {
        guard let base = UpstreamAddress("https://upstream.invalid/base/"), let address = base.resolving(path) else {
            return false
        }
        return address.origin == base.origin && address.target.hasPrefix("/base/")
            && !address.path.split(separator: "/").contains("..")
    }
}

/// Fetches a feed's document.
struct FeedSource: Sendable {
    private static let accepted =
        "application/x-plist, application/x-apple-binary-plist;q=0.9, text/xml;q=0.8, application/json;q=0.7"
    /// The first sites called their property lists `text/html`, and servers that do not know the file name's ending call
    /// them `text/plain`: what decides is the document.
    private static let mediaTypes: Set<String> = [
        "application/x-plist", "application/x-apple-binary-plist", "application/xml", "text/xml", "application/json",
        "text/html", "text/plain",
    ]

    let feed: UpstreamFeed
    let upstream: any Upstream
    let records: any RecordStore
    let publisher: Publisher
    let log: Log

    /// The one row of the mirror. A document that is another one than was last fetched is a version before this returns.
    func page() async throws -> MirrorPage {
        guard let address = upstream.url.resolving(feed.path) else {
            throw PorticoError(.upstreamFailed, "The system \(upstream.name) could not be asked.", logDetail: "no path")
        }
        let known = try await records.record(feed.name.id, in: feed.mirror.entity)
        var request = UpstreamRequest(.get, address, fields: ["Accept": Self.accepted])
        request.redirects = .followed
        if let known { request.setConditions(from: Self.validators(known)) }
        let response = try await upstream.send(request)
        if response.status == 304, let known {
            return MirrorPage([known.fields], age: response.age)
        }
        let content = try content(response)
        let version = try await publisher.take(
            content, as: feed.name, last: known?[UpstreamFeed.version].int64Value, from: feed.upstream, log)
        let row: WireDictionary = [
            UpstreamFeed.feed.text: .string(feed.name.text), UpstreamFeed.version.text: .int64(version),
            UpstreamFeed.tag.text: Self.validator("ETag", of: response),
            UpstreamFeed.modified.text: Self.validator("Last-Modified", of: response),
        ]
        return MirrorPage([row], age: response.age)
    }

    private static func validators(_ known: Record) -> UpstreamHeaders {
        let fields = [("ETag", UpstreamFeed.tag), ("Last-Modified", UpstreamFeed.modified)]
        return UpstreamHeaders(
            fields.compactMap { name, field in
                known[field].stringValue.flatMap { $0.isEmpty ? nil : (name: name, value: $0) }
            })
    }

    private static func validator(_ name: String, of response: UpstreamResponse) -> WireValue {
        let value = response.fields[name] ?? ""
        return .string(value.utf8.count <= UpstreamFeed.longestValidator ? value : "")
    }

    private func content(_ response: UpstreamResponse) throws -> FeedContent {
        let body = try response.document(Self.mediaTypes, of: upstream.name)
        let value: WireValue
        do { value = try Self.read(body) } catch {
            let isPage = (response.fields["Content-Type"] ?? "").lowercased().hasPrefix("text/html")
            throw MirrorRefusal(isPage ? .loginPage : .malformed, "the answer is no property list")
        }
        do { return try FeedContent(value) } catch {
            throw MirrorRefusal(.unexpected, "the document cannot be served in every format: \(error.message)")
        }
    }

    /// A property list of either kind, or JSON, by its first bytes.
    private static func read(_ body: [UInt8]) throws(WireFormatError) -> WireValue {
        let binary = BinaryPropertyListFormat()
        if let signature = binary.signature, body.starts(with: signature) { return try binary.read(body) }
        let isJSON = body.first { !$0.isJSONSpace } == UInt8(ascii: "{")
        return try isJSON ? JSONFormat().read(body) : XMLPropertyListFormat().read(body)
    }
}

extension UInt8 {
    /// RFC 8259, section 2.
    fileprivate var isJSONSpace: Bool { [0x20, 0x09, 0x0A, 0x0D].contains(self) }
}
