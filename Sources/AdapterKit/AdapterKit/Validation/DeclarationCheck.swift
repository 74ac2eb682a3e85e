/// The check of a declaration for what the host could not serve, before anything is made of it.
///
/// Counts come first, so that what is looked at afterwards is bounded. Sentences name what is wrong by names and paths that
/// were checked already, never by a text of the adapter's.
struct DeclarationCheck {
    private let declaration: AdapterDeclaration
    private(set) var problems: [DeclarationProblem] = []
    /// Members of the shapes so far, those within each other too.
    private var members = 0

    init(_ declaration: AdapterDeclaration) { self.declaration = declaration }

    mutating func run() {
        at("", .count) { try $0.checkCounts() }
        guard problems.isEmpty else { return }
        at("", .name) { try $0.checkNames() }
        for (place, text) in [
            ("title", declaration.title), ("summary", declaration.summary), ("version", declaration.version),
        ] {
            at(place, .text) { _ in try text.checkText("the \(place)", mayBeEmpty: false) }
        }
        at("access", .access) { try $0.check($0.declaration.access, "the adapter") }
        for entity in declaration.entities { check(entity) }
        for operation in declaration.operations { check(operation) }
        for mount in declaration.mounts { at("mounts.\(mount.name)", .mount) { try $0.check(mount) } }
        let operations = Dictionary(
            declaration.operations.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        for service in declaration.soapServices {
            at("soapServices.\(service.place)", .soapService) { try $0.check(service, operations) }
        }
        for feed in declaration.liveFeeds { at("liveFeeds.\(feed.name)", .liveFeed) { try $0.check(feed) } }
        for problem in declaration.mirrorProblems {
            at("mirrors", .mirror) { _ in throw Breach(problem) }
        }
        for mirror in declaration.mirrors { at("mirrors.\(mirror.entity)", .mirror) { try $0.check(mirror) } }
        at("", .route) { try $0.checkRoutes() }
        // Now that shapes are not deep.
        guard problems.isEmpty else { return }
        at("", .shape) { try $0.checkTypeNames() }
    }

    /// Collects the first thing that is wrong in one place of the declaration.
    private mutating func at(
        _ path: String, _ rule: DeclarationProblem.Rule, _ check: (inout DeclarationCheck) throws -> Void
    ) {
        do {
            try check(&self)
        } catch let breach as Breach {
            problems.append(DeclarationProblem(breach.rule ?? rule, breach.words, at: path))
        } catch let error as PorticoError {
            problems.append(DeclarationProblem(rule, error.logDetail ?? error.message, at: path))
        } catch {
            problems.append(DeclarationProblem(rule, "\(error)", at: path))
        }
    }

    private func require(_ holds: Bool, _ words: @autoclosure () -> String) throws {
        guard holds else { throw Breach(words()) }
    }

    /// Requires what another rule than that of the place demands.
    private func require(
        _ holds: Bool, _ rule: DeclarationProblem.Rule, _ words: @autoclosure () -> String
    ) throws {
        guard holds else { throw Breach(words(), rule) }
    }
}

/// A rule that is broken in the place that is looked at.
private struct Breach: Error {
    /// Nil: the rule of the place.
    let rule: DeclarationProblem.Rule?
    let words: String

    init(_ words: String, _ rule: DeclarationProblem.Rule? = nil) { (self.rule, self.words) = (rule, words) }
}

// MARK: Options

extension DeclarationCheck {
    /// Keys below `adapters.{name}` that are the host's.
    private static let hostOptions: Set<String> = ["connect", "enabled", "worker"]

    private static func isHostOption(_ names: [Substring]) -> Bool {
        hostOptions.contains(String(names[0]))
            || names.count == 3 && names[0] == "entities" && names[2] == "access"
    }

    private static let mostOptions = 500

    mutating func run(_ options: [ConfigurationOption]) {
        at("options", .count) { _ in
            guard options.count <= Self.mostOptions else {
                throw Breach("it has more than \(Self.mostOptions) options")
            }
        }
        guard problems.isEmpty else { return }
        var known: Set<String> = []
        for (number, option) in options.enumerated() {
            at("options.\(number)", .option) { check in
                try check.check(option)
                guard known.insert(option.path).inserted else { throw Breach("two options are \(option.path)") }
            }
        }
    }

    private mutating func check(_ option: ConfigurationOption) throws {
        let names =
            option.path.utf8.count <= 256 ? option.path.split(separator: ".", omittingEmptySubsequences: false) : []
        try require(
            (1...8).contains(names.count) && names.allSatisfy { $0 == "*" || String($0).isXMLName },
            "the path of an option is not one to eight names joined by dots")
        try require(!Self.isHostOption(names), "the option \(option.path) is the gateway's")
        try option.summary.checkText("the summary of the option \(option.path)", mayBeEmpty: false)
        let what = "the option \(option.path)"
        if case .value(let shape) = option.valueKind { try check(shape, what) }
        guard let value = option.defaultValue, !value.isNull else { return }
        try require(value.isModest, .defaultValue, "the default of \(what) is too large")
        let isFitting =
            switch option.valueKind {
            case .value(let shape): (try? shape.check(value)) != nil
            case .access: AccessRights(configurationValue: value) != nil
            case .duration: value.doubleValue.map { $0 > 0 && $0 <= Self.longest / .seconds(1) } ?? false
            case .size: value.int64Value.map { $0 >= 0 } ?? false
            case .textLists: value.arrayValue != nil
            case .file: value.stringValue != nil
            case .secret, .upstream: false
            }
        try require(isFitting, .defaultValue, "the default of \(what) is not a value of its kind")
    }
}

// MARK: Counts and names

extension DeclarationCheck {
    private static let mostEntities = 500
    /// SQLite has 2,000 columns in a table (sqlite.org/limits.html); a decimal has two.
    private static let mostFields = 1_000
    private static let mostOperations = 5_000
    private static let mostMounts = 500
    private static let mostMembers = 100_000
    /// Names in a list, or values.
    private static let mostNames = 1_000
    /// A description of who may call has every choice of one role of each access.
    private static let mostRoles = 16
    private static let mostLevels = 16
    private static let mostBytes = 1 << 30
    /// Ten years, far below where durations end.
    private static let longest = Duration.seconds(315_360_000)

    /// Refuses what is too much for tables, routes and descriptions, which are all in memory.
    private func checkCounts() throws {
        let (entities, operations) = (declaration.entities, declaration.operations)
        let fields = entities.map(\.fields)
        let columns = fields.map { fields in fields.map(\.columns).reduce(0, +) }
        let lists = fields.map { fields in fields.count(where: \.isList) }
        let counts: [(what: String, count: Int, most: Int)] = [
            ("entities", entities.count, Self.mostEntities),
            ("fields of an entity", fields.map(\.count).max() ?? 0, Self.mostFields),
            ("columns of an entity", columns.max() ?? 0, Self.mostFields * 3 / 2),
            ("lists among fields", lists.reduce(0, +), Self.mostOperations),
            ("indexes", entities.map(\.indexes.count).reduce(0, +), Self.mostOperations),
            ("operations", operations.count, Self.mostOperations),
            ("paths of operations", operations.map(\.bindings.count).reduce(0, +), Self.mostOperations),
            ("mounts", declaration.mounts.count, Self.mostMounts),
            ("live feeds", declaration.liveFeeds.count, Self.mostEntities),
            ("SOAP services", declaration.soapServices.count, Self.mostMounts),
            (
                "operations of SOAP services", declaration.soapServices.map(\.operations.count).reduce(0, +),
                Self.mostOperations
            ),
            ("paths of SOAP services", declaration.soapServices.map(\.paths.count).reduce(0, +), Self.mostNames),
            ("mirrors", declaration.mirrors.count, Self.mostEntities),
        ]
        guard let excess = counts.first(where: { $0.count > $0.most }) else { return }
        throw Breach("it has \(excess.count) \(excess.what); at most \(excess.most) are taken")
    }

    private func checkNames() throws {
        try checkDistinct(declaration.entities.map(\.name.text), "entities have the name", ignoresCase: true)
        try checkDistinct(declaration.operations.map(\.name.text), "operations have the name", ignoresCase: true)
        try checkDistinct(declaration.mounts.map(\.name.text), "mounts have the name", ignoresCase: true)
        try checkDistinct(declaration.liveFeeds.map(\.name.text), "live feeds have the name", ignoresCase: true)
    }

    /// Refuses names that stand twice. They were validated.
    private func checkDistinct(_ names: [String], _ what: @autoclosure () -> String, ignoresCase: Bool = false) throws {
        var known: Set<String> = []
        for name in names where !known.insert(ignoresCase ? name.lowercased() : name).inserted {
            throw Breach("two \(what()) \(name)")
        }
    }

    private func check(_ rights: AccessRights?, _ what: String) throws {
        for access in [rights?.read, rights?.write, rights?.refresh] { try check(access, what) }
    }

    private func check(_ access: Access?, _ what: @autoclosure () -> String) throws {
        guard case .roles(let roles)? = access else { return }
        try require(
            roles.count <= Self.mostRoles, .access, "\(what()) asks for one of more than \(Self.mostRoles) roles")
    }
}

// MARK: Shapes

extension DeclarationCheck {
    private mutating func check(_ shape: Shape, _ what: String, level: Int = 1) throws {
        try require(level <= Self.mostLevels, .shape, "\(what) has a shape of more than \(Self.mostLevels) levels")
        switch shape {
        case .any, .bool, .integer, .double, .date: return
        case .decimal(let scale):
            try require(
                scale ?? 0 <= WireDecimal.maximumDigits, .shape,
                "\(what) has a decimal with more than \(WireDecimal.maximumDigits) places")
        case .string(let limits):
            try require(
                limits.minimumLength <= limits.maximumLength && limits.maximumLength <= Self.mostBytes, .shape,
                "\(what) has a text whose shortest length is above its longest, or above \(Self.mostBytes) characters")
        case .data(let maximum):
            try require(maximum <= Self.mostBytes, .shape, "\(what) has data of more than \(Self.mostBytes) bytes")
        case .choice(let texts):
            try require(
                !texts.isEmpty && texts.count <= Self.mostNames && Set(texts).count == texts.count, .shape,
                "\(what) is a choice that does not have one to \(Self.mostNames) different texts")
            for text in texts { try text.checkText("a choice of \(what)") }
        case .list(let item): try check(item, what, level: level + 1)
        case .object(let object): try check(object, what, level: level)
        }
    }

    private mutating func check(_ object: ObjectShape, _ what: String, level: Int = 1) throws {
        try require(
            object.name.isXMLName, .shape, "\(what) has an object whose name is not of letters, digits and `_-.`")
        members += object.members.count
        try require(members <= Self.mostMembers, .count, "its shapes have more than \(Self.mostMembers) members")
        for member in object.members {
            let what = "the member \(member.name) of \(object.name)"
            try member.summary.checkText("the summary of \(what)")
            try check(member.shape, what, level: level + 1)
            try check(default: member.defaultValue, of: member.shape, what)
        }
    }

    private func check(default value: WireValue?, of shape: Shape, _ what: String) throws {
        guard let value, !value.isNull else { return }
        try require(value.isModest, .defaultValue, "the default of \(what) is too large")
        try require((try? shape.check(value)) != nil, .defaultValue, "the default of \(what) is not of its shape")
    }
}

// MARK: Entities

extension DeclarationCheck {
    /// Columns of FTS5 itself (sqlite.org/fts5.html, section 3).
    private static let searchColumns: Set<String> = ["rank", "rowid"]

    private mutating func check(_ entity: Entity) {
        let (what, place) = ("the entity \(entity.name)", "entities.\(entity.name)")
        let before = problems.count
        at(place, .text) { _ in try entity.summary.checkText("the summary of \(what)", mayBeEmpty: false) }
        at(place, .access) {
            try $0.check(entity.readers, what)
            try $0.check(entity.writers, what)
        }
        members += entity.fields.count
        for field in entity.fields {
            let what = "the field \(field.name) of \(entity.name)"
            at("\(place).fields.\(field.name)", .entity) {
                try field.summary.checkText("the summary of \(what)")
                try $0.check(field.shape, what)
                try $0.check(default: field.defaultValue, of: field.shape, what)
            }
        }
        at(place, .entity) { try $0.checkLists(of: entity) }
        for rule in [entity.rows.read, entity.rows.write] {
            at("\(place).rows", .rowRule) { try $0.checkParts(of: rule, entity) }
        }
        // What names fields, of which each was looked at.
        guard problems.count == before else { return }
        at(place, .entity) { try entity.check(in: $0.declaration) }
    }

    private func checkLists(of entity: Entity) throws {
        for index in entity.indexes {
            try require(index.fields.count <= 16, .count, "an index of \(entity.name) has more than 16 fields")
            try checkDistinct(index.fields.map(\.text), "fields of an index of \(entity.name) are")
        }
        try checkDistinct(entity.searchFields.map(\.text), "fields of the search of \(entity.name) are")
        try checkDistinct(entity.attachments.map(\.text), "attachments of \(entity.name) are")
        try checkDistinct(entity.historyFields.map(\.text), "fields of the history of \(entity.name) are")
        try checkDistinct(entity.parents.map { "\($0.field) in \($0.entity)" }, "parents of \(entity.name) are")
        if let name = entity.searchFields.first(where: { Self.searchColumns.contains($0.text.lowercased()) }) {
            throw Breach(
                "the field \(name) of \(entity.name) cannot be searched: the search index reserves that name")
        }
    }

    /// SQLite has 1,000 levels of an expression (sqlite.org/limits.html).
    private func checkParts(of rule: RowRule, _ entity: Entity) throws {
        var (waiting, parts) = ([rule], 0)
        while let next = waiting.popLast() {
            parts += 1
            switch next {
            case .attributeEquals(_, let attribute):
                try attribute.checkText("an attribute in a row rule of \(entity.name)")
            case .fieldIsOneOf(let name, let values):
                parts += values.count
                let isFitting = values.allSatisfy { value in
                    value.isModest && (entity.field(name).map { (try? $0.shape.check(value)) != nil } ?? true)
                }
                try require(isFitting, "a row rule of \(entity.name) has a value that its field \(name) cannot have")
            case .not(let rule): waiting.append(rule)
            case .any(let rules), .all(let rules): waiting += rules
            default: break
            }
            try require(
                parts + waiting.count <= 500, "a row rule of \(entity.name) has more than 500 parts")
        }
    }

    private func check(_ mirror: MirrorSource) throws {
        let (what, settings) = ("the mirror of \(mirror.entity)", mirror.settings)
        try checkDurations([settings.freshFor, settings.staleFor, settings.waitFor, settings.refresh ?? .zero], what)
        // Each refresh asks another system.
        try require(
            settings.refresh.map { $0 >= .milliseconds(100) } ?? true,
            "\(what) is refreshed more than ten times a second")
        try require(
            (1...100_000).contains(settings.callers.count)
                && (1...MirrorSettings.Callers.mostRows).contains(settings.callers.rows),
            "\(what) keeps the rows of no callers, or too many")
    }

    private func checkDurations(_ durations: [Duration], _ what: @autoclosure () -> String) throws {
        try require(durations.allSatisfy { $0 <= Self.longest }, "\(what()) has a time of more than ten years")
    }
}

// MARK: Operations

extension DeclarationCheck {
    private mutating func check(_ operation: Operation) {
        let place = "operations.\(operation.name)"
        at(place, .operation) { try $0.checkWhole(operation, "the operation \(operation.name)") }
        for binding in operation.bindings {
            at("\(place).bindings", .binding) {
                try $0.check(binding, of: operation, "the operation \(operation.name)")
            }
        }
    }

    private mutating func checkWhole(_ operation: Operation, _ what: String) throws {
        try operation.summary.checkText("the summary of \(what)", mayBeEmpty: false)
        try check(operation.access, what)
        try check(operation.input, what)
        try check(operation.output, what)
        try operation.documentType?.checkMediaType("the documents of \(what)")
        if let deadline = operation.deadline {
            try require(deadline > .zero && deadline <= .seconds(86_400), "the deadline of \(what) is not within a day")
        }
        try checkDistinct(operation.entities?.map(\.text) ?? [], "entities of \(what) are")
        if let name = operation.entities?.first(where: { declaration.entity($0) == nil }) {
            throw Breach("\(what) names the entity \(name), which is not declared")
        }
        if let callThrough = operation.callThrough {
            try checkDurations([callThrough.freshFor, callThrough.staleFor, callThrough.waitFor], what)
        }
        try require(
            operation.caching == .noStore || operation.effect == .reads, "\(what) writes, so its answers cannot be kept"
        )
        try require(
            operation.audience == .callers || operation.bindings.isEmpty,
            "\(what) is for operators, so it has no path of its own")
    }

    private func check(_ binding: HTTPBinding, of operation: Operation, _ what: String) throws {
        try check(binding.path, what)
        try require(operation.effect == .reads || binding.method != .get, "\(what) writes, so its method cannot be GET")
        try checkDistinct(binding.queryMembers.map(\.text), "parameters of \(what) are")
        try checkMembers(binding, of: operation, what)
        if case .document(_, let message) = binding.form { try message.checkText("the error message of \(what)") }
        let presentation = binding.presentation
        try require(
            Presentation.formats.contains(presentation.defaultFormat),
            "\(what) has a default format that is not known")
        if let document = presentation.xml {
            try require(document.root.isXMLName, "\(what) has an XML document whose root has no name")
            try require(document.namespace?.isNamespace ?? true, "the namespace of \(what) is no URI")
        }
        if case .flat(let code, let message) = presentation.errors {
            let names = [code, message, "requestId", "target"]
            try require(
                names.allSatisfy(\.isXMLName) && Set(names).count == names.count,
                "the errors of \(what) do not have a code and a message of two names of their own")
        }
    }

    /// A path holds one value, and a request without a body has no others. What a path has and the input does not is not passed on.
    private func checkMembers(_ binding: HTTPBinding, of operation: Operation, _ what: String) throws {
        let elsewhere = Set(binding.path.parameters + binding.queryMembers)
        if let name = binding.queryMembers.first(where: { operation.input.member($0.text) == nil }) {
            throw Breach("the parameter \(name) of \(what) is not in its input")
        }
        if let name = binding.queryMembers.first(where: binding.path.parameters.contains) {
            throw Breach("the member \(name) of \(what) comes from path and query")
        }
        let hasBody = ![.get, .delete].contains(binding.method)
        for member in operation.input.members {
            try require(
                hasBody || !member.isRequired || elsewhere.contains(member.name),
                "the member \(member.name) of \(what) is required and cannot be given")
            try require(
                member.isRequired || !binding.path.parameters.contains(member.name),
                "the member \(member.name) of \(what) is in the path, so it is required")
        }
    }

    private func check(_ mount: HTTPMount) throws {
        let what = "the mount \(mount.name)"
        let isPlain = mount.path.parts.allSatisfy { if case .literal(let text) = $0 { !text.isEmpty } else { false } }
        try require(isPlain, "the path of \(what) has to be plain segments")
        try check(mount.path, what)
        try mount.summary.checkText("the summary of \(what)", mayBeEmpty: false)
        try mount.mediaType.checkMediaType("the answers of \(what)")
        try check(mount.access, what)
        let isMethod = mount.methods.allSatisfy { method in
            (1...20).contains(method.utf8.count) && method.utf8.allSatisfy { (0x41...0x5A).contains($0) }
        }
        try require(isMethod, "a method of \(what) is not one to twenty capital letters")
        let ofGateway: Set<String> = ["CONNECT", "HEAD", "OPTIONS", "TRACE"]
        try require(
            !mount.methods.isEmpty && mount.methods.count <= 50 && ofGateway.isDisjoint(with: mount.methods),
            "\(what) has no method, or one that the gateway answers itself")
        try require(mount.readingPosts.count <= Self.mostNames, "\(what) has too many names of reading posts")
        for name in mount.readingPosts { try name.checkText("a reading post of \(what)") }
        try require(
            mount.bodyLimit.map { $0 <= Self.mostBytes } ?? true,
            "\(what) takes bodies of more than \(Self.mostBytes) bytes")
    }
}

// MARK: SOAP services and live feeds

extension DeclarationCheck {
    /// Namespaces that a description refers to itself.
    private static let foreignNamespaces = ["http://www.w3.org/", "http://schemas.xmlsoap.org/"]

    private func check(_ service: SOAPService, _ operations: [OperationName: Operation]) throws {
        try require(service.name.isXMLName, "a SOAP service has a name that is not of letters, digits and `_-.`")
        let what = "the SOAP service \(service.name)"
        try require(
            service.namespace.isNamespace && !Self.foreignNamespaces.contains(where: service.namespace.hasPrefix),
            "the namespace of \(what) is no URI of its own")
        try require((1...100).contains(service.paths.count), "\(what) has no path, or more than 100")
        for path in service.paths {
            try require(path.parameters.isEmpty, "the paths of \(what) have to be plain segments")
            try check(path, what)
        }
        try require(!service.operations.isEmpty, "\(what) has no operations")
        for name in service.operations {
            guard let operation = operations[name] else {
                throw Breach("\(what) names the operation \(name), which is not declared")
            }
            try require(operation.documentType == nil, "\(what) has the operation \(name), which answers documents")
            try require(operation.audience == .callers, "\(what) has the operation \(name), which is for operators")
        }
        // Each is an element, as is the answer to each.
        let names = service.operations.map(\.text)
        try checkDistinct(names + names.map { $0 + "Response" } + ["serviceFault"], "elements of \(what) are")
    }

    /// Events of the host's own.
    private static let hostEvents: Set<EventName> = ["error", "ready", "reconnect", "reset"]

    private func check(_ feed: LiveFeed) throws {
        let what = "the live feed \(feed.name)"
        try check(feed.path, what)
        try feed.summary.checkText("the summary of \(what)", mayBeEmpty: false)
        try require(feed.sources.count <= 100, "\(what) has more than 100 sources")
        let events =
            [feed.group.membership, feed.group.changed] + [feed.presence].compactMap(\.self)
            + feed.sources.flatMap { [$0.created, $0.changed] + [$0.removed].compactMap(\.self) }
        if let event = events.first(where: Self.hostEvents.contains) {
            throw Breach("the event \(event) of \(what) is the gateway's")
        }
        for fields in [feed.group.fields] + feed.sources.map(\.fields) {
            try checkDistinct(fields.map(\.text), "fields of \(what) are")
        }
        try feed.check(in: declaration)
    }
}

// MARK: Paths

extension DeclarationCheck {
    /// First segments of paths that are the host's own.
    static let reserved: Set<String> = [
        "", "account", "admin", "auth", "batch", "client", "docs", "errors", "favicon.ico", "favicon.svg", "health",
        "metrics", "openapi.json", "pages", "sync",
    ]

    private func check(_ path: PathTemplate, _ what: String) throws {
        let isPath = path.parts.allSatisfy { if case .literal(let text) = $0 { text.isPathSegment } else { true } }
        try require(
            isPath, .path,
            "a path of \(what) has a segment that is `.` or `..`, or has a character that needs an escape")
        try require(
            path.parts.count <= 32 && path.description.utf8.count <= 1_000, .path,
            "a path of \(what) is longer than 1000 bytes")
        let segments = path.parts.map { if case .literal(let text) = $0 { text } else { "" } }
        try require(!Self.reserved.contains(segments.first ?? ""), .path, "the path \(path) is the gateway's")
        let own = ["api", "v1", declaration.name.text]
        try require(
            segments.first != "api" || segments.starts(with: own), .path,
            "the path \(path) is not below /\(own.joined(separator: "/")), as the adapter's own are")
    }

    /// No two routes have one method and one path; names of parameters make none another one.
    private func checkRoutes() throws {
        var known: Set<String> = []
        func add(_ method: String, _ path: String) throws {
            try require(known.insert("\(method) \(path)").inserted, "the adapter has two routes \(method) \(path)")
        }
        let own = "/api/v1/\(declaration.name)"
        for entity in declaration.entities where entity.exposure == .resource {
            for method in ["GET", "POST"] { try add(method, "\(own)/\(entity.name)") }
            for method in ["GET", "PATCH", "PUT", "DELETE"] { try add(method, "\(own)/\(entity.name)/{}") }
        }
        for mirror in declaration.mirrors { try add("POST", "\(own)/mirrors/\(mirror.entity)/refresh") }
        for operation in declaration.operations where operation.audience == .callers {
            if operation.bindings.isEmpty { try add("POST", "\(own)/operations/\(operation.name)") }
            for binding in operation.bindings { try add(binding.method.rawValue, binding.path.nameless) }
        }
        for mount in declaration.mounts {
            for method in mount.methods {
                try add(method, mount.path.nameless)
                try add(method, mount.path.nameless + "/{*}")
            }
        }
        for path in declaration.soapServices.flatMap(\.paths) {
            for method in ["GET", "POST"] { try add(method, path.nameless) }
        }
        for feed in declaration.liveFeeds { try add("GET", feed.path.nameless) }
    }
}

// MARK: Names of types

extension DeclarationCheck {
    /// Descriptions name types by their shapes' names, so one name means one shape.
    private func checkTypeNames() throws {
        var known: [String: ObjectShape] = [:]
        var waiting: [Shape] = declaration.operations.flatMap { [Shape.object($0.input), $0.output] }
        waiting += declaration.entities.flatMap(\.fields).map(\.shape)
        while let shape = waiting.popLast() {
            switch shape {
            case .list(let item): waiting.append(item)
            case .object(let object):
                guard let other = known.updateValue(object, forKey: object.name) else {
                    waiting += object.members.map(\.shape)
                    continue
                }
                try require(other == object, "two shapes have the name \(object.name)")
            default: continue
            }
        }
    }
}

extension SOAPService {
    /// Its name in a path of the declaration, where it is one.
    fileprivate var place: String { name.isXMLName ? name : "?" }
}

extension Field {
    /// Columns in the entity's table.
    fileprivate var columns: Int { if case .decimal = shape { 2 } else { 1 } }
    /// Whether its values have a table of their own.
    fileprivate var isList: Bool { if case .list = shape { true } else { false } }
}

extension PathTemplate {
    fileprivate var nameless: String {
        parts.map { part in
            switch part {
            case .literal(let text): "/\(text)"
            case .parameter: "/{}"
            case .remainder: "/{*}"
            }
        }.joined()
    }
}

// MARK: Texts and values

extension DeclarationProblem {
    /// The problem of a text that an adapter shows: nil, or that it is long, or has a character that ends a line or that some
    /// format cannot carry. `what` names it in a sentence.
    public static func ofText(_ text: String, _ what: String) -> DeclarationProblem? {
        do {
            try text.checkText(what)
            return nil
        } catch {
            return DeclarationProblem(.text, (error as? Breach)?.words ?? "\(what) cannot be shown", at: "")
        }
    }
}

extension String {
    /// Bytes of a declared text.
    private static let mostBytes = 4_096

    /// Throws where the text is empty and may not be, is long, or has a character that ends a line, or that some format cannot carry.
    fileprivate func checkText(_ what: @autoclosure () -> String, mayBeEmpty: Bool = true) throws {
        guard mayBeEmpty || !isEmpty else { throw Breach("\(what()) is empty", .text) }
        guard utf8.count <= Self.mostBytes else {
            throw Breach("\(what()) has more than \(Self.mostBytes) bytes", .text)
        }
        let isPlain = unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: false
            default: true
            }
        }
        guard isPlain, isRepresentableInEveryFormat else {
            throw Breach("\(what()) has control characters", .text)
        }
    }

    fileprivate func checkMediaType(_ what: @autoclosure () -> String) throws {
        guard utf8.count <= 200, utf8.allSatisfy({ (0x20...0x7E).contains($0) }), MediaTypeText(self) != nil else {
            throw Breach("\(what()) have no media type", .text)
        }
    }

    /// A name in XML, JSON and a command line alike: a letter or `_`, then letters, digits and `_-.`, at most 128 bytes.
    fileprivate var isXMLName: Bool {
        func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte & 0xDF) || byte == UInt8(ascii: "_") }
        guard let first = utf8.first, isLetter(first), utf8.count <= 128 else { return false }
        return utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x2E }
    }

    fileprivate var isNamespace: Bool { !isEmpty && utf8.count <= 500 && isOfURICharacters }

    /// RFC 3986, appendix A.
    private var isOfURICharacters: Bool {
        utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"<>\\^`{|}".utf8.contains($0) }
    }

    /// A segment that a request's target can have as it stands (RFC 3986, section 3.3: `pchar`). An empty one ends a path.
    fileprivate var isPathSegment: Bool {
        self != "." && self != ".." && isOfURICharacters && !utf8.contains { "%/?#[]".utf8.contains($0) }
    }
}

extension WireValue {
    /// At most 16 levels, 1,000 items and 64 KiB of texts: a description repeats it.
    fileprivate var isModest: Bool {
        var (waiting, items, bytes) = ([(self, 1)], 0, 0)
        while let (value, level) = waiting.popLast() {
            items += 1
            switch value {
            case .string(let text): bytes += text.utf8.count
            case .data(let data): bytes += data.count
            case .array(let values): waiting += values.map { ($0, level + 1) }
            case .dictionary(let members):
                for member in members {
                    bytes += member.key.utf8.count
                    waiting.append((member.value, level + 1))
                }
            default: break
            }
            guard level <= 16, items + waiting.count <= 1_000, bytes <= 1 << 16 else { return false }
        }
        return true
    }
}
