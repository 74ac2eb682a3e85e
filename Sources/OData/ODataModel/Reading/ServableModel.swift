/// A part of another system's model that cannot be served.
public struct LeftOut: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// A set, `Set/Property`, or an operation.
    public let path: String
    /// A sentence.
    public let reason: String

    public init(_ path: String, _ reason: String) {
        (self.path, self.reason) = (path, reason)
    }

    public var description: String { "\(path): \(reason)" }

    public static func < (left: Self, right: Self) -> Bool { left.description < right.description }
}

/// The part of another system's model that can be served, whatever else the model has.
///
/// ``EntityDataModel/init(csdl:)`` refuses a document with a name that stands for nothing. Documents of others have such names:
/// types of documents that are not at hand, and types that a later version has. What names them is left out with a reason.
public struct ServableModel: Sendable {
    /// The protocol of the service, by the document's form.
    public enum Version: String, Sendable {
        case version2 = "2.0"
        case version3 = "3.0"
        case version4 = "4.0"
    }

    public let model: EntityDataModel
    public let version: Version
    public let leftOut: [LeftOut]
    /// The sets and singletons of the document, whether they are served or not.
    public let named: [String]

    /// `unwanted`: sets that are not served by wish, which are not reported. Throws ``CSDLProblem`` where nothing is left.
    public init(csdl bytes: [UInt8], without unwanted: Set<String> = []) throws(CSDLProblem) {
        let document = try CSDLElement(csdl: bytes)
        version = document.protocolVersion
        let upgraded = try document.upgradedFromVersion2()
        named = DocumentNames(upgraded).containerChildren
        var pruning = ModelPruning(upgraded)
        pruning.remove(unwanted)
        pruning.run()
        model = try EntityDataModel(document: pruning.document)
        leftOut = pruning.leftOut.filter { !unwanted.contains($0.path) }.sorted()
    }
}

extension CSDLElement {
    fileprivate var protocolVersion: ServableModel.Version {
        guard namespace != CSDLNamespace.edmx else { return .version4 }
        let named = first("DataServices")?["{\(CSDLNamespace.metadata2)}DataServiceVersion"]
        return named?.hasPrefix("3") ?? false ? .version3 : .version2
    }
}

/// Removes what names something that a document has not, until everything that is left is complete.
struct ModelPruning {
    private(set) var document: CSDLElement
    private(set) var leftOut: Set<LeftOut> = []
    private var unwanted: Set<String> = []

    init(_ document: CSDLElement) {
        self.document = document
    }

    mutating func remove(_ sets: Set<String>) { unwanted = sets }

    mutating func run() {
        var before: CSDLElement
        repeat {
            before = document
            prune(DocumentNames(document))
        } while before != document
        removeSets(DocumentNames(document))
    }

    /// Each schema is changed by `change`.
    private mutating func eachSchema(_ change: (inout CSDLElement, inout Set<LeftOut>) -> Void) {
        var leftOut = leftOut
        document.children = document.children.map { services in
            guard services.name == "DataServices" else { return services }
            var services = services
            services.children = services.children.map { schema in
                var schema = schema
                change(&schema, &leftOut)
                return schema
            }
            return services
        }
        self.leftOut = leftOut
    }

    private mutating func prune(_ names: DocumentNames) {
        eachSchema { schema, leftOut in
            let namespace = schema["Namespace"] ?? ""
            schema.children = schema.children.compactMap { child in
                switch child.name {
                case "EntityType", "ComplexType":
                    let type = QualifiedName(namespace, child["Name"] ?? "")
                    if let base = child["BaseType"], !names.has(base) {
                        for set in names.sets(of: type) { leftOut.insert(LeftOut(set, "there is no type \(base)")) }
                        return nil
                    }
                    return Self.pruned(child, type, names, &leftOut)
                case "Function", "Action":
                    let types = child.all("Parameter") + child.all("ReturnType")
                    guard let stray = types.compactMap({ $0["Type"] }).first(where: { !names.has($0) }) else {
                        return child
                    }
                    leftOut.insert(LeftOut(child["Name"] ?? "", "there is no type \(stray)"))
                    return nil
                case "EntityContainer": return Self.pruned(container: child, names, &leftOut)
                default: return child
                }
            }
        }
    }

    /// Without properties of unknown types.
    private static func pruned(
        _ type: CSDLElement, _ name: QualifiedName, _ names: DocumentNames, _ leftOut: inout Set<LeftOut>
    ) -> CSDLElement {
        var pruned = type
        var gone: Set<String> = []
        pruned.children.removeAll { child in
            guard ["Property", "NavigationProperty"].contains(child.name), let type = child["Type"], !names.has(type)
            else { return false }
            let property = child["Name"] ?? ""
            gone.insert(property)
            let owners = names.sets(of: name)
            for owner in owners.isEmpty ? [name.name] : owners {
                leftOut.insert(LeftOut("\(owner)/\(property)", "there is no type \(type)"))
            }
            return true
        }
        guard !gone.isEmpty else { return pruned }
        pruned.children = pruned.children.map { child in
            var child = child
            child.children.removeAll { constraint in
                constraint.name == "ReferentialConstraint" && constraint["Property"].map(gone.contains) ?? false
            }
            return child
        }
        // An entity without a part of its key is none; its sets go.
        if let key = pruned.first("Key"), key.all("PropertyRef").contains(where: { gone.contains($0["Name"] ?? "") }) {
            pruned.children.removeAll { $0.name == "Key" }
        }
        return pruned
    }

    private static func pruned(
        container: CSDLElement, _ names: DocumentNames, _ leftOut: inout Set<LeftOut>
    ) -> CSDLElement {
        var pruned = container
        pruned.children.removeAll { child in
            let name = child["Name"] ?? ""
            switch child.name {
            case "EntitySet", "Singleton":
                let type = child["EntityType"] ?? child["Type"] ?? ""
                guard !names.has(type) else { return false }
                leftOut.insert(LeftOut(name, "there is no type \(type)"))
                return true
            case "FunctionImport", "ActionImport":
                let operation = child["Function"] ?? child["Action"] ?? ""
                return !names.hasOperation(operation)
            default: return false
            }
        }
        return pruned
    }

    /// Removes sets that are unwanted, and those without a key, with what leads to them.
    private mutating func removeSets(_ names: DocumentNames) {
        var gone = unwanted
        for (set, type) in names.typesOfSets where !names.hasKey(type) {
            gone.insert(set)
            leftOut.insert(LeftOut(set, "its entities have no key"))
        }
        // Theirs are not there either.
        leftOut = leftOut.filter { part in
            !gone.contains(String(part.path.prefix { $0 != "/" })) || gone.contains(part.path)
        }
        let known = Set(names.containerChildren).subtracting(gone)
        eachSchema { schema, _ in
            schema.children = schema.children.map { container in
                guard container.name == "EntityContainer" else { return container }
                var container = container
                container.children.removeAll { child in
                    gone.contains(child["Name"] ?? "") || (child["EntitySet"].map { gone.contains($0) } ?? false)
                }
                container.children = container.children.map { child in
                    var child = child
                    child.children.removeAll { binding in
                        guard binding.name == "NavigationPropertyBinding" else { return false }
                        let target = (binding["Target"] ?? "").split(separator: "/").last.map(String.init) ?? ""
                        return !known.contains(target)
                    }
                    return child
                }
                return container
            }
        }
    }
}

/// The names that a document declares.
private struct DocumentNames {
    private var types: [QualifiedName: CSDLElement] = [:]
    private var operations: Set<QualifiedName> = []
    private var aliases: [String: String] = [:]
    /// Sets of the containers with their types, in order.
    private(set) var typesOfSets: [(set: String, type: QualifiedName)] = []
    /// Sets and singletons.
    private(set) var containerChildren: [String] = []

    init(_ document: CSDLElement) {
        let schemas = document.first("DataServices")?.all("Schema") ?? []
        for schema in schemas { if let alias = schema["Alias"] { aliases[alias] = schema["Namespace"] ?? "" } }
        for schema in schemas {
            let namespace = schema["Namespace"] ?? ""
            for child in schema.children {
                let name = QualifiedName(namespace, child["Name"] ?? "")
                switch child.name {
                case "EntityType", "ComplexType", "EnumType", "TypeDefinition": types[name] = child
                case "Function", "Action": operations.insert(name)
                case "EntityContainer":
                    for item in child.children where item.name == "EntitySet" || item.name == "Singleton" {
                        containerChildren.append(item["Name"] ?? "")
                        guard item.name == "EntitySet", let type = resolved(item["EntityType"] ?? "") else { continue }
                        typesOfSets.append((item["Name"] ?? "", type))
                    }
                default: continue
                }
            }
        }
    }

    private func resolved(_ text: String) -> QualifiedName? {
        QualifiedName(text).map { name in aliases[name.namespace].map { QualifiedName($0, name.name) } ?? name }
    }

    /// Whether there is such a type; `Collection(…)` is of its item's.
    func has(_ text: String) -> Bool {
        var name = text
        if name.hasPrefix("Collection("), name.hasSuffix(")") {
            name = String(name.dropFirst("Collection(".count).dropLast())
        }
        if name.hasPrefix("Edm.") { return NameScope.isBuiltIn(String(name.dropFirst("Edm.".count))) }
        return resolved(name).map { types[$0] != nil } ?? false
    }

    func hasOperation(_ text: String) -> Bool { resolved(text).map(operations.contains) ?? false }

    /// The type and those that it derives from.
    private func line(of type: QualifiedName) -> [QualifiedName] {
        var line = [type]
        while let base = types[line[line.count - 1]]?["BaseType"].flatMap(resolved), !line.contains(base) {
            line.append(base)
        }
        return line
    }

    func hasKey(_ type: QualifiedName) -> Bool { line(of: type).contains { types[$0]?.first("Key") != nil } }

    /// The sets whose entities have the type's properties: its own, and those of types that derive from it.
    func sets(of type: QualifiedName) -> [String] {
        typesOfSets.filter { line(of: $0.type).contains(type) || line(of: type).contains($0.type) }.map(\.set)
    }
}
