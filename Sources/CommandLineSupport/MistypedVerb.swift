import ArgumentParser
import NearestNames

/// The first word of a command line that is no verb where a verb is expected.
public struct MistypedVerb {
    /// `Did you mean …?`, with the verb that is most like it, or where options stand; nil where none is near, or all words are verbs.
    public let hint: String?

    private static let ofTheProgram = ["-h", "--help", "--version"]

    /// `root`: the program's command.
    public init(_ arguments: [String], of root: any ParsableCommand.Type) {
        var command = root
        for word in arguments {
            let verbs = command.configuration.subcommands
            guard !verbs.isEmpty else { break }
            guard !word.hasPrefix("-") else {
                let isOfAVerb = command.configuration.defaultSubcommand != nil || Self.ofTheProgram.contains(word)
                hint = isOfAVerb ? nil : "Options stand behind the whole command."
                return
            }
            if let next = verbs.first(where: { $0._commandName == word }) {
                command = next
                continue
            }
            hint = NearestName.of(word, among: verbs.map { $0._commandName }).map { "Did you mean \($0)?" }
            return
        }
        hint = nil
    }
}
