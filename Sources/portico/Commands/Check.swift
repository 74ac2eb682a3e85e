import AdapterKit
import ArgumentParser
import Foundation

/// `portico check`: everything that can be validated without serving.
struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Validates a configuration without serving.")

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let plan = try options.load()
        for warning in plan.warnings { FileHandle.standardError.write(Data("warning: \(warning)\n".utf8)) }
        let adapters = plan.adapters.map(\.declaration.name.text).joined(separator: ", ")
        print("\(options.file) is valid. Adapters: \(adapters.isEmpty ? "none" : adapters)")
    }
}
