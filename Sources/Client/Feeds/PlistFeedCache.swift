import Foundation
import ValueTree
import WireFormats

/// The feeds that a device has kept, in one folder. `plistIndex.plist` says which file has which feed:
/// `{absoluteURL: {localFileName: "<uuid>.plist", lastUpdate, etag?, lastModified?}}`.
///
/// Every document gets a file of its own, and the index changes from the old one to the new one in one step. So whatever
/// a crash leaves behind, validators never stand beside a document that they do not belong to.
public actor PlistFeedCache {
    static let indexName = "plistIndex.plist"
    private let folder: URL

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
