/// A reason why a declaration is not served: the rule that it breaks, where, and in which words.
///
/// There is one check, for adapters that are compiled in, connection files and workers alike: at a start, at each reload, in
/// `portico check` and in the tests of an adapter.
public struct DeclarationProblem: Sendable, Equatable, CustomStringConvertible {
    /// The rules for declarations.
    public enum Rule: String, Sendable, CaseIterable {
        /// There is not too much of anything: tables, routes and descriptions are all in memory.
        case count
        /// Names are there once, case aside.
        case name
        /// Texts are not too long, have no control characters, and are there where people need them.
        case text
        /// Rights name 16 roles at most.
        case access
        /// Shapes have limits that hold, few levels, and one meaning for each name.
        case shape
        /// A default is a value of its shape or kind, and small.
        case defaultValue
        /// An option has a path of its own.
        case option
        /// An entity names fields and entities that are there, of the shapes that their use needs.
        case entity
        /// A row rule has few parts, and values that its fields can have.
        case rowRule
        /// A mirror finds its rows again, and asks the other system within reason.
        case mirror
        /// An operation promises what it can keep.
        case operation
        /// A request of this method to this path can carry what the operation needs.
        case binding
        /// A mounted subtree has plain segments and methods of its own.
        case mount
        /// A SOAP service has operations that SOAP can carry.
        case soapService
        /// A live feed sends what its listeners may read.
        case liveFeed
        /// A path can be asked for as it stands, and is not the gateway's or another adapter's.
        case path
        /// No two routes have one method and one path.
        case route
    }

    /// The rule that is broken.
    public let rule: Rule
    /// A sentence without a full stop, safe to show: of the adapter's own texts it has names and paths alone.
    public let words: String
    /// Where in the declaration, as names joined by dots: `entities.notes.fields.title`; empty: it is about the whole.
    public let path: String

    /// Creates a problem with these values.
    public init(_ rule: Rule, _ words: String, at path: String) {
        self.rule = rule
        self.words = words
        self.path = path
    }

    /// The words, then the place.
    public var description: String { path.isEmpty ? words : "\(words) (\(path))" }
}

extension AdapterDeclaration {
    /// Why it cannot be served, by the rules of ``DeclarationProblem/Rule``: in each place what is wrong there first. Empty: it can
    /// be. Does not look at another adapter's paths.
    public var problems: [DeclarationProblem] {
        var check = DeclarationCheck(self)
        check.run()
        return check.problems
    }

    /// The same, and what is wrong with the options of the module that declares it.
    public func problems(of module: any AdapterModule.Type) -> [DeclarationProblem] {
        let isNamed = name == module.name
        return
            (isNamed
            ? [] : [DeclarationProblem(.name, "the adapter \(module.name) declares itself as \(name)", at: "name")])
            + ConfigurationOption.problems(of: module.options) + problems
    }

    /// First segments of paths that are the gateway's own.
    public static var reservedSegments: Set<String> { DeclarationCheck.reserved }
}

extension ConfigurationOption {
    /// Why these cannot be an adapter's options. Empty: they can be.
    public static func problems(of options: [ConfigurationOption]) -> [DeclarationProblem] {
        var check = DeclarationCheck(AdapterDeclaration(name: "options", title: "", summary: "", version: ""))
        check.run(options)
        return check.problems
    }
}
