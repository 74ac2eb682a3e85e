import ArgumentParser
import CommandLineSupport
import Foundation

/// A gateway's program: Portico with the adapters that are compiled into it.
///
///     @main
///     enum Acme: HostProgram {
///         static let name = "acme-gateway"
///         static let adapters = BuiltInAdapters.all + [CompiledAdapter(NotesModule.self, version: "1.0.0")]
///     }
///
/// It has the commands of `portico`: `serve`, `check`, `init` and those that answer questions.
public protocol HostProgram: SendableMetatype {
    /// The program's name on the command line.
    static var name: String { get }

    /// What is compiled in. No two may have one name.
    static var adapters: [CompiledAdapter] { get }

    /// Commands beside those of every host.
    static var commands: [any ParsableCommand.Type] { get }
}

extension HostProgram {
    public static var commands: [any ParsableCommand.Type] { [] }

    /// Runs the command that the process' arguments name, to its end.
    public static func main() async {
        if CommandLine.arguments.dropFirst().first == Serve<Self>.configuration.commandName { ProcessSignals.prepare() }
        await HostCommand<Self>.runArguments()
    }
}

/// The command of a host's program, above its subcommands.
struct HostCommand<Program: HostProgram>: AsyncParsableCommand {
    /// The status after arguments that make no sense; ArgumentParser's own would be 64.
    private static var wrongUsage: Int32 { 2 }

    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: Program.name,
            abstract: "One backend for mobile apps: adapters behind one gateway, over one store, in every wire format.",
            version: version,
            subcommands: own + Program.commands)
    }

    private static var own: [any ParsableCommand.Type] {
        [
            Initialize<Program>.self, Serve<Program>.self, Check<Program>.self, TryConnection<Program>.self,
            FetchDocument<Program>.self, Reference<Program>.self, Explain.self, SelfSignedCertificate.self,
        ]
    }

    /// Portico's release, then what is compiled in, by name.
    private static var version: String {
        ([PorticoRelease.version]
            + Program.adapters.sorted { $0.name < $1.name }.map { "\($0.name) \($0.version)" }).joined(separator: "\n")
    }

    fileprivate static func runArguments() async {
        do {
            var command = try parseAsRoot()
            if var longRunning = command as? any AsyncParsableCommand {
                try await longRunning.run()
            } else {
                try command.run()
            }
        } catch let error where FileFailure.sentence(error) != nil {
            exit(withError: HostCommandError(FileFailure.sentence(error) ?? ""))
        } catch {
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            let mistyped = MistypedVerb(Array(CommandLine.arguments.dropFirst()), of: HostCommand.self)
            let hint = mistyped.hint.map { "\n" + $0 } ?? ""
            FileHandle.standardError.write(Data((fullMessage(for: error) + hint + "\n").utf8))
            Foundation.exit(wrongUsage)
        }
    }
}
