import ArgumentParser
import CommandLineSupport
import Foundation

/// The operator's command line. Results go to standard output, progress and errors to standard error.
///
/// Exit status: 0 done, 1 failed, 2 wrong usage, 4 not signed in.
package struct PorticoControl: AsyncParsableCommand {
    package init() {}

    package static let configuration = CommandConfiguration(
        commandName: "porticoctl",
        abstract: "Administers a running Portico.",
        discussion: """
            Exit status: 0 done, 1 failed, 2 wrong usage, 4 not signed in.

            Examples:
              porticoctl status --data /var/lib/portico
              porticoctl accounts add ada --role member
              porticoctl config apply
              porticoctl backup /var/backups/portico/monday
              porticoctl status --url https://gateway.example:9443 --token-file ops.token
            """,
        version: "0.1.0",
        subcommands: [
            Status.self, Top.self, Adapters.self, Upstreams.self, Mirrors.self, Writes.self, Records.self,
            Accounts.self, Roles.self,
            SessionCommands.self, Keys.self, Audit.self, FeedCommands.self, EmployeeCommands.self, UserCommands.self,
            ODataCommands.self,
            SOAPCommands.self, Sync.self, StoreCommands.self, Logs.self, Backup.self, BackupCommands.self,
            Restore.self,
            ConfigurationCommands.self, AdminCommands.self, ConsoleCommands.self, ClientCommands.self,
            ConnectCommands.self, AdapterCommands.self, HostCommands.self,
        ])

    /// Runs the command that the arguments of this process name, and ends the process where it fails.
    package static func main() async {
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
            let mistyped = MistypedVerb(Array(CommandLine.arguments.dropFirst()), of: PorticoControl.self)
            let hint = mistyped.hint.map { "\n" + $0 } ?? ""
            FileHandle.standardError.write(Data((fullMessage(for: error) + hint + "\n").utf8))
            Foundation.exit(2)
        }
    }
}
