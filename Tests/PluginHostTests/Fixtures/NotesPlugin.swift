import Foundation

/// `Plugins/Notes`, built as its own package beside the host: with a `libAdapterKit.so` of its own.
enum NotesPlugin {
    /// Builds once for all tests.
    static let folder = Result {
        let scratch = Repository.root.appending(path: ".build/plugin-fixtures")
        try Tool.run(
            "swift", "build", "--package-path", Repository.root.appending(path: "Plugins/Notes").path,
            "--scratch-path", scratch.path, "--product", "Notes", "-c", Repository.configuration, "-j", "2")
        return scratch.appending(path: Repository.configuration).resolvingSymlinksInPath()
    }

    static func path() throws -> String {
        try folder.get().appending(path: "libNotes.so").path
    }
}
