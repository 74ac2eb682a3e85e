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
        discussion: """
            Exit status: 0 done, 1 failed, 2 wrong usage, 4 not signed in.

            Examples:
              porticoctl status --data /var/lib/portico
              porticoctl accounts add ada --role member
              porticoctl config apply
              porticoctl backup /var/backups/portico-1
              porticoctl status --url https://gateway.example:9443 --token-file ops.token
            """,
        version: "0.1.0",
        subcommands: [
            Status.self, Top.self, Adapters.self, Upstreams.self, Mirrors.self, Writes.self, Accounts.self, Roles.self,
            SessionCommands.self, Keys.self, Audit.self, Feeds.self, Employees.self, Users.self, ODataCommands.self,
            SOAPCommands.self, Sync.self, StoreCommands.self, Logs.self, Backup.self,
            Restore.self,
            ConfigurationCommands.self, AdminCommands.self, ClientCommands.self, ConnectCommands.self,
            AdapterCommands.self,
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
            let hint = MistypedVerb(Array(CommandLine.arguments.dropFirst())).hint.map { "\n" + $0 } ?? ""
            FileHandle.standardError.write(Data((fullMessage(for: error) + hint + "\n").utf8))
            Foundation.exit(2)
        }
    }
}

/// The first word of a command line that is no verb where a verb is expected.
struct MistypedVerb {
    /// `Did you mean …?`, with the verb that is most like it; nil where none is near, or all words are verbs.
    let hint: String?

    init(_ arguments: [String]) {
        var command: any ParsableCommand.Type = PorticoControl.self
        for word in arguments {
            let verbs = command.configuration.subcommands
            guard !verbs.isEmpty, !word.hasPrefix("-") else { break }
            if let next = verbs.first(where: { $0._commandName == word }) {
                command = next
                continue
            }
            let ranked = verbs.map { (name: $0._commandName, distance: Self.distance(word, $0._commandName)) }
            let best = ranked.min { ($0.distance, $0.name) < ($1.distance, $1.name) }
            hint = best.flatMap { $0.distance <= max(2, word.count / 3) ? "Did you mean \($0.name)?" : nil }
            return
        }
        hint = nil
    }

    /// Levenshtein's distance.
    private static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (count, character) in left.enumerated() {
            var diagonal = row[0]
            row[0] = count + 1
            for (index, other) in right.enumerated() {
                let above = row[index + 1]
                row[index + 1] = min(above + 1, row[index] + 1, diagonal + (character == other ? 0 : 1))
                diagonal = above
            }
        }
        return row[right.count]
    }
}
