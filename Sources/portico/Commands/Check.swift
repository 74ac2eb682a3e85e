import AdapterKit
import ArgumentParser

/// `portico check`: everything that can be validated without serving.
struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Validates a configuration without serving.")

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let plan = try options.load()
        let adapters = plan.adapters.map(\.declaration.name.text).joined(separator: ", ")
        print("\(options.file) is valid. Adapters: \(adapters.isEmpty ? "none" : adapters)")
    }
}
