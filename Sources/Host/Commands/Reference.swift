import AdapterKit
import ArgumentParser
import HostConfiguration

/// `portico reference`: a page of docs/ in Markdown, from the same table that the program works by.
struct Reference<Program: HostProgram>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "reference",
            abstract: "Prints a reference (Markdown): of the configuration, the metrics or the error codes.")
    }

    @Argument(help: "What the reference is of.")
    var subject = ReferenceSubject.configuration

    func run() {
        switch subject {
        case .configuration: print(ConfigurationPage.text(Program.adapters))
        case .metrics: print(MetricReference.text)
        case .errors: print(ErrorReference.text)
        }
    }

}

/// What `portico reference` prints a page about.
enum ReferenceSubject: String, CaseIterable, ExpressibleByArgument {
    case configuration, metrics, errors
}

/// docs/configuration.md: every key, those of the compiled-in adapters too.
enum ConfigurationPage {
    static func text(_ compiled: [CompiledAdapter]) -> String {
        let reference = HostReference.reference(for: compiled.map { ConfigurableAdapter($0) })
        let rows = (reference.keys + [HostReference.connected] + WorkerSettings.keys(of: "*")).map { key in
            let value = key.defaultText.map { "`\($0)`" } ?? ""
            let effect = key.restartReason.map { "restart: \($0)" } ?? "reloads"
            return "| `\(key.name)` | \(key.kind.words) | \(value) | \(effect) | \(key.summary) |"
        }
        return ([heading] + rows).joined(separator: "\n")
    }

    private static let heading = """
        # Configuration reference

        Printed by `portico reference`; `make check` compares. A configuration is YAML; over it comes the environment (`PORTICO_` and the key in
        upper snake case: `http.corsMaxAge` is `PORTICO_HTTP_CORS_MAX_AGE`), over that `--set key=value`, lists as
        `[a,b]`. An unknown key is an error with its place and a suggestion; `portico check --config FILE` finds all of
        them at once. `*` stands for a name of your own. The path of a secret (`{file: PATH}`) is relative to the
        configuration file. A key that *reloads* gets another value by
        `porticoctl config apply` or SIGHUP, every other one by a restart, for the reason that is named: [operating.md](operating.md#changing-the-configuration).

        | key | takes | default | change | meaning |
        |---|---|---|---|---|
        """
}

extension ConfigurationKind {
    fileprivate var words: String {
        switch self {
        case .text: "text"
        case .integer(let range): "\(range.lowerBound) to \(range.upperBound)"
        case .number: "number: `0.5`"
        case .flag: "`true`, `false`"
        case .duration: "duration: `250ms`, `30s`, `15m`, `8h`, `30d`"
        case .size: "size: `512`, `64KiB`, `1MiB`"
        case .choice(let choices): choices.map { "`\($0)`" }.joined(separator: ", ")
        case .access: "`login`, `public-read`, `public`, `{roles: […]}`, `{read: …, write: …}`"
        case .secret(let allowsPlain): (allowsPlain ? "text, " : "") + "`{env: NAME}`, `{file: PATH}`"
        case .list(let item): "list of \(item.words)"
        case .oneOrMore(let item): "\(item.words) or a list of it"
        case .mapping(let keys): "mapping of \(keys.map { "`\($0.name)`" }.joined(separator: ", "))"
        }
    }
}
