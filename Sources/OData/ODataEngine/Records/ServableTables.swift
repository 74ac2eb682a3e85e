import AdapterKit
import ODataModel

/// The tables of another system's service: of as much of its model as can be served.
public struct ServableTables: Sendable {
    public let tables: ServiceTables
    public let version: ServableModel.Version
    /// What cannot be served, or not with everything that the other system has.
    public let leftOut: [LeftOut]
    /// The sets and singletons of the document, whether they are served or not.
    public let named: [String]

    /// `unwanted`: sets that are not served by wish. Throws ``CSDLProblem`` where nothing is left, and for what is no model.
    public init(
        service: String, csdl bytes: [UInt8], without unwanted: Set<String> = []
    ) throws(CSDLProblem) {
        var refused: [LeftOut] = []
        while true {
            let part = try ServableModel(csdl: bytes, without: unwanted.union(refused.map(\.path)))
            let tables = try ServiceTables(service: service, model: part.model, leavesOut: true)
            let problems = Self.problems(of: tables)
            guard !problems.isEmpty else {
                self.tables = tables
                version = part.version
                named = part.named
                leftOut = (part.leftOut + tables.leftOut + refused + Self.unread(tables)).sorted()
                return
            }
            refused += problems
        }
    }

    /// Sets whose records contradict themselves.
    private static func problems(of tables: ServiceTables) -> [LeftOut] {
        tables.entities(areMirrors: true).compactMap { entity -> LeftOut? in
            guard let table = tables.tables.values.first(where: { $0.entity == entity.name }) else { return nil }
            do throws(PorticoError) {
                _ = try EntityRules(entity)
                return nil
            } catch {
                return LeftOut(table.source, error.message)
            }
        }
    }

    private static func unread(_ tables: ServiceTables) -> [LeftOut] {
        let streams = tables.tables.values.flatMap { table in
            table.streams.keys.map { LeftOut("\(table.source)/\($0)", "the bytes of streams are not fetched") }
        }
        let actions = tables.model.operations.values.flatMap { $0 }.filter { $0.kind == .action }.map { action in
            LeftOut(action.name.name, "actions of other systems are not called")
        }
        return streams + Set(actions)
    }
}
