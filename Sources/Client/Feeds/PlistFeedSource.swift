import Foundation
import ValueTree
import WireFormats

/// Where a feed is downloaded from.
public protocol PlistFeedSource: Sendable {
    /// Absolute; names the feed on this device and in errors.
    var url: String { get }

    /// One download, of ``PlistFeedController/deadline`` at most. Throws nothing but what is meant for the controller.
    ///
    /// - Throws: ``ClientError``, ``TransportError``, or `CancellationError`.
    func answer(headers: [Header]) async throws -> TransportResponse
}

/// The validators of a version of the document (RFC 9110, section 8.8), sent with the next request.
public struct PlistFeedValidators: Sendable, Equatable {
    /// The `ETag` of the last response.
    public var etag: String?
    /// The `Last-Modified` of the last response.
    public var lastModified: String?

    var headers: [Header] {
        let conditions = [("If-None-Match", etag), ("If-Modified-Since", lastModified)]
        return conditions.compactMap { name, value in value.map { Header(name, $0) } }
    }
}

/// A feed of a gateway, read with a sign-in, or without where the feed is public and no one is signed in.
public struct FeedOfSession: PlistFeedSource {
    private let session: Session
    private let call: ServerCall

    /// - Parameter needsSignIn: off for a feed that everyone may read.
    public init(_ name: String, of session: Session, needsSignIn: Bool = true) {
        self.session = session
        call = ServerCall(
            path: ["plists", name], deadline: PlistFeedController.deadline, needsSignIn: needsSignIn)
    }

    public var url: String { session.server.text + call.target }

    public func answer(headers: [Header]) async throws -> TransportResponse {
        var call = call
        call.headers = headers
        return try await session.answer(to: call)
    }
}

/// A feed at any address, of whatever server.
public struct FeedAtAddress: PlistFeedSource {
    public let url: String
    private let transport: any Transport

    /// A feed at any address, read over `transport` without credentials.
    public init(_ url: String, transport: any Transport) {
        self.url = url
        self.transport = transport
    }

    public func answer(headers: [Header]) async throws -> TransportResponse {
        try await transport.send(
            TransportRequest(url: url, headers: headers, deadline: PlistFeedController.deadline))
    }
}

extension PlistFeedSource {
    func download(validators: PlistFeedValidators) async -> PlistFeedResponse {
        do {
            let response = try await answer(headers: [Header("Accept", "application/x-plist")] + validators.headers)
            return meaning(of: response, isConditional: validators != PlistFeedValidators())
        } catch {
            return .failed(PlistFeedFailure(error))
        }
    }

    private func meaning(of response: TransportResponse, isConditional: Bool) -> PlistFeedResponse {
        if response.status == 304, isConditional { return .unchanged }
        guard (200..<300).contains(response.status) else {
            let reason = "the server answered \(response.status)"
            return .failed(PlistFeedFailure(code: .connectionFailed, reason: reason, status: response.status))
        }
        let validators = PlistFeedValidators(
            etag: response.header("ETag"), lastModified: response.header("Last-Modified"))
        return .document(response.body, validators)
    }
}

extension PlistFeedFailure {
    init(_ error: any Error) {
        switch error {
        case TransportError.invalidAddress(let reason), ClientError.server(let reason):
            self.init(code: .cannotInitiate, reason: reason)
        case ClientError.notSignedIn: self.init(code: .cannotInitiate, reason: "no account is signed in")
        case ClientError.refused(let refusal):
            self.init(code: .connectionFailed, reason: refusal.message, status: refusal.status)
        default: self.init(code: .connectionFailed, reason: "\(error)")
        }
    }
}

/// The feeds that a device has kept, in one folder. `plistIndex.plist` says which file has which feed:
/// `{absoluteURL: {localFileName: "<uuid>.plist", lastUpdate, etag?, lastModified?}}`.
///
/// Every document gets a file of its own, and the index changes from the old one to the new one in one step. So whatever
/// a crash leaves behind, validators never stand beside a document that they do not belong to.
public actor PlistFeedCache {
    static let indexName = "plistIndex.plist"
    private let folder: URL

    /// Keeps the feeds' documents in that folder.
    public init(folder: URL) {
        self.folder = folder
    }

    struct Entry: Sendable, Equatable {
        var localFileName: String?
        var validators = PlistFeedValidators()
        var lastUpdate = Date.distantPast
    }

    /// Nil where nothing is kept, or what is kept cannot be read as a feed.
    func load(_ url: String) throws -> (entry: Entry, data: WireDictionary)? {
        guard let entry = Entry(try index()[url]), let name = entry.localFileName else { return nil }
        guard let bytes = try? Data(contentsOf: folder.appendingPathComponent(name)),
            let data = try? PlistFeedDocument.read([UInt8](bytes))
        else { return nil }
        return (entry, data)
    }

    func keep(_ bytes: [UInt8], _ entry: Entry, of url: String) throws -> Entry {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var fresh = entry
        let name = "\(UUID().uuidString).plist"
        fresh.localFileName = name
        try Data(bytes).write(to: folder.appendingPathComponent(name), options: .atomic)
        let old = Entry(try index()[url])?.localFileName
        try note(fresh, of: url)
        if let old { try? FileManager.default.removeItem(at: folder.appendingPathComponent(old)) }
        return fresh
    }

    /// Changes what the index says of a feed that is kept.
    func note(_ entry: Entry, of url: String) throws {
        guard entry.localFileName != nil else { return }
        var index = try index()
        index[url] = entry.value
        let bytes = try XMLPropertyListFormat().write(.dictionary(index))
        try Data(bytes).write(to: folder.appendingPathComponent(Self.indexName), options: .atomic)
    }

    /// One that cannot be read names nothing; the next download writes another.
    private func index() throws -> WireDictionary {
        let file = folder.appendingPathComponent(Self.indexName)
        guard FileManager.default.fileExists(atPath: file.path) else { return [:] }
        let bytes = [UInt8](try Data(contentsOf: file))
        return (try? XMLPropertyListFormat().read(bytes))?.dictionaryValue ?? [:]
    }
}

extension PlistFeedCache.Entry {
    /// Nil for anything that names a file outside of the folder.
    init?(_ value: WireValue?) {
        guard let value, let name = value["localFileName"]?.stringValue, !name.contains("/"), name.hasSuffix(".plist")
        else { return nil }
        localFileName = name
        validators.etag = value["etag"]?.stringValue
        validators.lastModified = value["lastModified"]?.stringValue
        lastUpdate =
            value["lastUpdate"]?.dateValue.map {
                Date(timeIntervalSinceReferenceDate: $0.secondsSinceReferenceDate)
            } ?? .distantPast
    }

    var value: WireValue {
        var members: WireDictionary = [
            "localFileName": .string(localFileName ?? ""),
            // Property lists have whole seconds.
            "lastUpdate": .date(
                WireDate(secondsSinceReferenceDate: lastUpdate.timeIntervalSinceReferenceDate.rounded(.down))),
        ]
        if let etag = validators.etag { members["etag"] = .string(etag) }
        if let modified = validators.lastModified { members["lastModified"] = .string(modified) }
        return .dictionary(members)
    }
}

/// The check of a feed's document: UTF-8, a DOCTYPE of property lists, a dictionary as the root.
enum PlistFeedDocument {
    static func read(_ bytes: [UInt8]) throws(PlistFeedFailure) -> WireDictionary {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw failure("it is not UTF-8") }
        guard hasDoctype(text) else { throw failure("it has no DOCTYPE of property lists") }
        let value: WireValue
        do {
            value = try XMLPropertyListFormat().read(bytes)
        } catch {
            throw failure(error.description)
        }
        guard let dictionary = value.dictionaryValue else { throw failure("its root is not a dictionary") }
        return dictionary
    }

    /// Where it stands is the reader's matter, which takes it before the root only.
    private static func hasDoctype(_ text: String) -> Bool {
        guard let found = text.range(of: "<!DOCTYPE", options: .caseInsensitive) else { return false }
        return text[found.upperBound...].drop(while: \.isWhitespace).prefix(5).lowercased() == "plist"
    }

    private static func failure(_ reason: String) -> PlistFeedFailure {
        PlistFeedFailure(code: .fileFormat, reason: "what came is no feed: \(reason)")
    }
}
