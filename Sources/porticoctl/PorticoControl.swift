import ArgumentParser
import Foundation

/// The operator's command line. Results go to standard output, progress and errors to standard error.
///
/// Exit status: 0 done, 1 failed, 2 wrong usage, 4 not signed in.
@main
struct PorticoControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "porticoctl",
        abstract: "Administers a running Portico.",
        discussion: "Exit status: 0 done, 1 failed, 2 wrong usage, 4 not signed in.",
        version: "0.1.0",
        subcommands: [
            Status.self, Adapters.self, Upstreams.self, Mirrors.self, Writes.self, Accounts.self, Roles.self,
            SessionCommands.self, Keys.self, Audit.self, Feeds.self, Employees.self, Users.self, ODataCommands.self,
            SOAPCommands.self, Sync.self, Backup.self,
            Restore.self,
            ConfigurationCommands.self, AdminCommands.self, ClientCommands.self, ConnectCommands.self,
        ])

    static func main() async {
        do {
            var command = try parseAsRoot(ODataParse.separatingText(Array(CommandLine.arguments.dropFirst())))
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let failure as CommandError {
            FileHandle.standardError.write(Data("porticoctl: \(failure.message.visibleLines)\n".utf8))
            Foundation.exit(failure.exitStatus)
        } catch {
            // ArgumentParser ends with 64 for wrong usage; operators' scripts expect 2.
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            FileHandle.standardError.write(Data((fullMessage(for: error) + "\n").utf8))
            Foundation.exit(2)
        }
    }
}
