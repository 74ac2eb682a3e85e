import AdapterKit

/// Names a feed in its path and in the configuration: a letter, then letters, digits, `_` and `-`, at most 64
/// characters.
struct FeedName: ValidatedName {
    /// Keys of every adapter beside those of the feeds.
    static let reserved: Set<String> = ["access", "enabled"]

    let text: String

    init(unchecked text: String) {
        self.text = text
    }

    static func isValid(_ text: String) -> Bool {
        EntityName.isValid(text) && !reserved.contains(text)
    }

    /// The feed's record.
    var id: RecordID { RecordID(unchecked: text) }
}
