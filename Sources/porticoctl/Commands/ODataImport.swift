import ArgumentParser
import Foundation
import ValueTree

/// Loads a set's rows.
struct ODataImport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Loads rows of a service's set from a file, all of them or none (CSV, JSON, plist, XML).")

    @OptionGroup var options: ConnectionOptions
    @Argument(help: "The service's name.") var service: String
    @Argument(help: "The set's name.") var set: String
    @OptionGroup var file: ImportedFile

    func run() async throws { try await file.load(into: "odata", options, beside: ["service": service, "set": set]) }
}
