import ArgumentParser
import Foundation
import ValueTree

/// Loads a set's rows.
struct ODataImport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Loads rows of a service's set from a file (CSV, JSON, plist, XML).",
        discussion: """
            CSV and lists in JSON are read and sent in parts, so a file may be of any length. What has more than one part is checked as a whole before anything is written; then each part is one transaction. Where one is refused, or Ctrl-C ends the import between two of them, what was loaded before stays and is told.
            """)

    @OptionGroup var options: ConnectionOptions
    @Argument(help: "The service's name.") var service: String
    @Argument(help: "The set's name.") var set: String
    @OptionGroup var file: ImportedFile
    @Option(help: "Goes on at this line of a CSV file, or this row of another one.") var from: Int = 1

    func validate() throws {
        guard from >= 1, from == 1 || file.mode == .append else {
            throw ValidationError("--from is a line or row from 1 on, and goes on with what was appended.")
        }
    }

    func run() async throws {
        let upload = ImportUpload(
            file: file, adapter: "odata", beside: ["service": service, "set": set], from: from, options: options)
        try await upload.run()
    }
}
