import ArgumentParser
import CommandLineSupport
import Foundation

@main
struct Portico: AsyncParsableCommand {
    /// The status after arguments that make no sense; ArgumentParser's own would be 64.
    static let wrongUsage: Int32 = 2

    static let configuration = CommandConfiguration(
        commandName: "portico",
        abstract: "One backend for mobile apps: adapters behind one gateway, over one store, in every wire format.",
        version: PorticoRelease.version,
        subcommands: [
            Initialize.self, Serve.self, Check.self, TryConnection.self, Convert.self, Reference.self, Explain.self,
            SelfSignedCertificate.self,
        ])

    static func main() async {
        if CommandLine.arguments.dropFirst().first == Serve.configuration.commandName { ProcessSignals.prepare() }
        do {
            var command = try parseAsRoot()
            if var longRunning = command as? any AsyncParsableCommand {
                try await longRunning.run()
            } else {
                try command.run()
            }
        } catch let error where FileFailure.sentence(error) != nil {
            exit(withError: CommandError(FileFailure.sentence(error) ?? ""))
        } catch {
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            let mistyped = MistypedVerb(Array(CommandLine.arguments.dropFirst()), of: Portico.self)
            let hint = mistyped.hint.map { "\n" + $0 } ?? ""
            FileHandle.standardError.write(Data((fullMessage(for: error) + hint + "\n").utf8))
            Foundation.exit(wrongUsage)
        }
    }
}
