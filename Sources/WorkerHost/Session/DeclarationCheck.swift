import AdapterKit

/// What the host could not serve of a worker's declaration, found before anything is made of it: a library of the operator's
/// is trusted to be right, a program is not.
enum DeclarationCheck {
    /// First segments of paths that are the host's own.
    private static let reserved: Set<String> = ["", "admin", "auth", "health", "metrics", "sync"]
    /// Levels of a row rule.
    private static let mostLevels = 16

    /// A sentence; nil: nothing is wrong.
    static func problem(_ declaration: AdapterDeclaration) -> String? {
        excess(declaration) ?? repeated(declaration) ?? paths(declaration) ?? methods(declaration)
            ?? entities(declaration)
    }

    /// What is too much for tables, routes and descriptions, which are all in memory.
    private static func excess(_ declaration: AdapterDeclaration) -> String? {
        let fields = declaration.entities.map(\.fields.count).max() ?? 0
        let counts = [
            ("entities", declaration.entities.count, mostEntities), ("fields of an entity", fields, mostFields),
            ("operations", declaration.operations.count, mostOperations),
            ("mounts", declaration.mounts.count, mostMounts),
            ("live feeds", declaration.liveFeeds.count, mostEntities),
            ("SOAP services", declaration.soapServices.count, mostMounts),
        ]
        return counts.first { $0.1 > $0.2 }.map { "it has \($0.1) \($0.0); at most \($0.2) are taken" }
    }

    private static let mostEntities = 500
    /// SQLite has 2,000 columns in a table (sqlite.org/limits.html).
    private static let mostFields = 1_000
    private static let mostOperations = 5_000
    private static let mostMounts = 500

    private static func repeated(_ declaration: AdapterDeclaration) -> String? {
        for (kind, names) in [
            ("entities", declaration.entities.map(\.name.text)),
            ("operations", declaration.operations.map(\.name.text)),
            ("mounts", declaration.mounts.map(\.name.text)), ("live feeds", declaration.liveFeeds.map(\.name.text)),
        ] {
            var known: Set<String> = []
            if let name = names.first(where: { !known.insert($0.lowercased()).inserted }) {
                return "two \(kind) have the name \(name)"
            }
        }
        return nil
    }

    private static func paths(_ declaration: AdapterDeclaration) -> String? {
        for mount in declaration.mounts {
            let isPlain = mount.path.parts.allSatisfy {
                if case .literal(let text) = $0 { !text.isEmpty } else { false }
            }
            guard isPlain else { return "the path of the mount \(mount.name) has to be plain segments: \(mount.path)" }
        }
        let all =
            declaration.mounts.map(\.path) + declaration.operations.flatMap { $0.bindings.map(\.path) }
            + declaration.liveFeeds.map(\.path)
        return all.first { isReserved($0, declaration.name) }.map { "the path \($0) is the gateway's" }
    }

    private static func isReserved(_ path: PathTemplate, _ name: AdapterName) -> Bool {
        let segments = path.parts.map { if case .literal(let text) = $0 { text } else { "" } }
        guard let first = segments.first, !reserved.contains(first) else { return true }
        return first == "api" && !segments.starts(with: ["api", "v1", name.text])
    }

    private static func methods(_ declaration: AdapterDeclaration) -> String? {
        declaration.mounts.first { mount in
            !mount.methods.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x41...0x5A).contains($0) } }
        }.map { "a method of the mount \($0.name) is none" }
    }

    private static func entities(_ declaration: AdapterDeclaration) -> String? {
        do throws(PorticoError) {
            for entity in declaration.entities {
                _ = try EntityRules(entity)
                for rule in [entity.rows.read, entity.rows.write] {
                    if let found = problem(rule, of: entity, declaration, level: 1) { return found }
                }
            }
            for feed in declaration.liveFeeds { try feed.check(in: declaration) }
            return nil
        } catch {
            return error.message
        }
    }

    private static func problem(
        _ rule: RowRule, of entity: Entity, _ declaration: AdapterDeclaration, level: Int
    ) -> String? {
        guard level <= mostLevels else { return "a row rule of \(entity.name) has more than \(mostLevels) levels" }
        switch rule {
        case .memberOf(let other, _, let members):
            guard let group = declaration.entity(other) else {
                return "a row rule of \(entity.name) names \(other), which is not declared"
            }
            if case .list(.string)? = group.field(members)?.shape { return nil }
            return "a row rule of \(entity.name) takes \(other).\(members) for a list of names"
        case .not(let inner): return problem(inner, of: entity, declaration, level: level + 1)
        case .any(let rules), .all(let rules):
            for inner in rules {
                if let found = problem(inner, of: entity, declaration, level: level + 1) { return found }
            }
            return nil
        default: return nil
        }
    }
}
