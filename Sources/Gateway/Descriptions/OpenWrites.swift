import AdapterKit

/// Entities and operations of an adapter that every caller with a login may write, whatever the rows say of callers.
public struct OpenWrites: Sendable, Equatable {
    /// Entities, operations and mounts, by their names.
    public let names: [String]
    /// The ones for which not even a login is needed.
    public let isPublic: [String]

    public var isEmpty: Bool { names.isEmpty }

    /// For operators, without a full stop.
    public var sentence: String {
        let signedIn = names.filter { !isPublic.contains($0) }
        var parts: [String] = []
        if !signedIn.isEmpty { parts.append("every caller with a login may write \(Self.list(signedIn))") }
        if !isPublic.isEmpty { parts.append("everybody may write \(Self.list(isPublic)) without a login") }
        return parts.joined(separator: ", ")
    }

    private static let most = 10

    /// The first names, and how many more there are.
    public static func list(_ names: [String]) -> String {
        let shown = names.prefix(most).joined(separator: ", ")
        return names.count > most ? "\(shown) and \(names.count - most) more" : shown
    }
}

extension AdapterDeclaration {
    /// Entities that some callers may write who may not read them, by their names.
    public var writtenUnread: [String] {
        entities.filter { $0.exposure == .resource && !readers(of: $0).includes(writers(of: $0)) }.map(\.name.text)
    }

    /// Entities and operations that every caller with a login may write.
    public var openWrites: OpenWrites {
        let written = entities.filter {
            $0.exposure == .resource && $0.rows.write != .nobody && !$0.rows.write.bindsRowsToCallers
        }.map { (name: $0.name.text, callers: [writers(of: $0)]) }
        // Without access of its own or the adapter's, it is written as the entities that it names.
        let called = operations.filter {
            $0.audience == .callers && $0.effect == .writes && $0.authorization == .byAccess
                && ($0.access ?? access.write) != nil
        }.map { (name: $0.name.text, callers: callers(of: $0)) }
        let mounted = mounts.filter {
            $0.authorization == .byAccess && $0.methods.contains { $0 != "GET" }
                && ($0.access?.write ?? access.write) != nil
        }.map { (name: $0.name.text, callers: callers(of: $0, .writes)) }
        let open = (written + called + mounted).filter { $0.callers.allSatisfy(\.isEverySignedIn) }
        return OpenWrites(
            names: open.map(\.name), isPublic: open.filter { $0.callers.allSatisfy { $0 == .public } }.map(\.name))
    }
}
