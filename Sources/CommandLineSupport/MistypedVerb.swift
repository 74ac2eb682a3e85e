import ArgumentParser
import NearestNames

/// The first word of a command line that is no verb where a verb is expected.
public struct MistypedVerb {
    /// `Did you mean …?`, with the verb that is most like it; nil where none is near, or all words are verbs.
    public let hint: String?

    /// `root`: the program's command.
    public init(_ arguments: [String], of root: any ParsableCommand.Type) {
        var command = root
        for word in arguments {
            let verbs = command.configuration.subcommands
            guard !verbs.isEmpty, !word.hasPrefix("-") else { break }
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
