import AttachmentFiles
import RecordStorage

/// Whether what is kept in files can be kept.
struct StoreWatch: Sendable {
    let store: any HostedStore
    let attachments: AttachmentFiles

    /// In a word, as far as it is known; nil: nothing is wrong.
    var problem: String? {
        store.problem?.rawValue ?? (attachments.isInPlace ? nil : "attachmentsMisplaced")
    }
}
