import AdapterKit
import Gateway

/// The files of the JavaScript client and of the notes that show it, below `/client/`, and the page of one's own account, at
/// `/account/`.
public enum BrowserFiles {
    /// `import { connect } from "/client/portico.js"` is all that a page needs.
    public static let all: [PageFile] =
        [
            PageFile(
                "/client/", .html, PackageResources.index_html,
                entry: .init("Notes", "Your notes, with and without a network.", adapter: "notes")),
            PageFile("/client/notes.css", .style, PackageResources.notes_css),
            PageFile(
                "/account/", .html, PackageResources.account_html,
                entry: .init("Your account", "Where you are signed in, your keys, your password.", for: .account)),
            PageFile("/account/own-account.js", .module, PackageResources.own_account_js),
        ]
        + modules.map { PageFile(PathTemplate(stringLiteral: "/client/\($0.name).js"), .module, $0.bytes) }

    private static let modules: [(name: String, bytes: [UInt8])] = [
        ("portico", PackageResources.portico_js),
        ("attachments", PackageResources.attachments_js),
        ("checksum", PackageResources.checksum_js),
        ("credentials", PackageResources.credentials_js),
        ("database", PackageResources.database_js),
        ("edits", PackageResources.edits_js),
        ("errors", PackageResources.errors_js),
        ("events", PackageResources.events_js),
        ("outbox", PackageResources.outbox_js),
        ("pause", PackageResources.pause_js),
        ("pull", PackageResources.pull_js),
        ("pulling", PackageResources.pulling_js),
        ("pushing", PackageResources.pushing_js),
        ("replica", PackageResources.replica_js),
        ("requests", PackageResources.requests_js),
        ("resources", PackageResources.resources_js),
        ("synchronizer", PackageResources.synchronizer_js),
        ("notes", PackageResources.notes_js),
        ("conflicts", PackageResources.conflicts_js),
        ("deletion", PackageResources.deletion_js),
        ("note-editor", PackageResources.note_editor_js),
        ("note-list", PackageResources.note_list_js),
        ("worker", PackageResources.worker_js),
    ]
}
