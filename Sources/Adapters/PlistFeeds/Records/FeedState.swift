import AdapterKit

/// A feed's record, read.
struct FeedState: Equatable {
    let name: FeedName
    let title: String
    /// Which version it shows.
    let version: Int64
    /// The largest number that was given, so that none is given twice after a roll-back.
    let latestVersion: Int64
    let published: WireDate
    let content: WireDictionary

    var fields: WireDictionary {
        [
            Feeds.name.text: .string(name.text), Feeds.title.text: .string(title),
            Feeds.version.text: .int64(version), Feeds.latestVersion.text: .int64(latestVersion),
            Feeds.published.text: .date(published), Feeds.content.text: .dictionary(content),
        ]
    }

    /// The number alone would not do: a store restored from a backup gives it a second time.
    var validators: Validators {
        let milliseconds = Int64((published.secondsSince1970 * 1_000).rounded())
        return Validators(version: "\(version)-\(milliseconds)", lastModified: published)
    }
}

extension FeedState {
    /// Throws `server.internal` for a record that no publication has written.
    init(_ record: Record) throws(PorticoError) {
        guard let name = FeedName(record.id.text), let title = record[Feeds.title].stringValue,
            let version = record[Feeds.version].int64Value,
            let latestVersion = record[Feeds.latestVersion].int64Value,
            let published = record[Feeds.published].dateValue,
            let content = record[Feeds.content].dictionaryValue
        else {
            throw PorticoError(
                .serverInternal, "The feed cannot be read.", target: record.id.text,
                logDetail: "a field of the feed's record has another type than declared")
        }
        self.init(
            name: name, title: title, version: version, latestVersion: latestVersion, published: published,
            content: content)
    }
}
