import AdapterKit
import ODataModel
import ODataRecords

/// One index as an operator declares it: `Set/Property`, or several of one set.
struct DeclaredIndex {
    /// SQLite's indexes may have more; no page is found faster by them.
    static let maximumProperties = 16

    private let paths: [String]
    private let tables: ServiceTables

    init(_ paths: [String], of tables: ServiceTables) {
        self.paths = paths
        self.tables = tables
    }

    /// The set and its properties, in order. Throws ``ConfigurationProblem`` at the key `place`, which names what is wrong.
    func parts(at place: String) throws -> (set: String, properties: [String]) {
        var set: String?
        var properties: [String] = []
        for path in paths {
            let (table, property) = try part(path, place)
            guard set == nil || set == table.source else {
                throw ConfigurationProblem(
                    place, "\(path): an index is of one set, and this one began with \(set ?? "").")
            }
            set = table.source
            guard !properties.contains(property) else {
                throw ConfigurationProblem(place, "\(path) stands in the index twice.")
            }
            properties.append(property)
        }
        guard let set, properties.count <= Self.maximumProperties else {
            throw ConfigurationProblem(place, "An index has 1 to \(Self.maximumProperties) properties.")
        }
        return (set, properties)
    }

    private func part(_ path: String, _ place: String) throws -> (RecordTable, String) {
        let names = path.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard names.count == 2 else {
            throw ConfigurationProblem(place, "\(path): an index names properties as Set/Property.")
        }
        guard let table = tables[names[0]] else {
            throw ConfigurationProblem(
                place, "\(path): the model has no set \(names[0]).\(Self.hint(names[0], tables.sources))")
        }
        guard let column = table.columns[names[1]] else {
            throw ConfigurationProblem(
                place,
                "\(path): \(names[0]) has no property \(names[1]).\(Self.hint(names[1], table.columns.keys.sorted()))")
        }
        guard !column.type.isCollection, isOrdered(column.type.type) else {
            throw ConfigurationProblem(
                place, "\(path): an index is of properties with an order, and \(column.type) has none.")
        }
        return (table, names[1])
    }

    private func isOrdered(_ type: TypeName) -> Bool {
        if case .enumeration = type { return true }
        guard let primitive = tables.model.primitive(behind: type) else { return false }
        return !primitive.isSpatial && primitive != .stream && primitive != .binary
    }

    /// The name that was meant, where only letters' case differs.
    private static func hint(_ name: String, _ names: [String]) -> String {
        names.first { $0.lowercased() == name.lowercased() }.map { " Did you mean \($0)?" } ?? ""
    }
}
