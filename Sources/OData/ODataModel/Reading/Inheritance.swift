/// Flattens inheritance: each type gets the keys and properties of the types it derives from.
struct Inheritance {
    private let declared: [QualifiedName: StructuredType]
    private(set) var flattened: [QualifiedName: StructuredType] = [:]

    init(_ types: [StructuredType]) throws(CSDLProblem) {
        declared = Dictionary(types.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        for type in types { _ = try flatten(type, below: []) }
    }

    private mutating func flatten(
        _ type: StructuredType, below: Set<QualifiedName>
    ) throws(CSDLProblem) -> StructuredType {
        if let done = flattened[type.name] { return done }
        guard !below.contains(type.name) else { throw CSDLProblem("The type \(type.name) derives from itself.") }
        var base: StructuredType?
        if let name = type.baseType, let parent = declared[name] {
            base = try flatten(parent, below: below.union([type.name]))
        }
        let whole = type.inheriting(base)
        try whole.check()
        flattened[type.name] = whole
        return whole
    }
}

extension StructuredType {
    fileprivate func inheriting(_ base: StructuredType?) -> StructuredType {
        guard let base else { return self }
        return StructuredType(
            name: name, isEntity: isEntity, baseType: baseType, isAbstract: isAbstract, isOpen: isOpen || base.isOpen,
            hasStream: hasStream || base.hasStream, key: base.key.isEmpty ? key : base.key,
            properties: base.properties + properties, navigation: base.navigation + navigation,
            annotations: annotations)
    }

    fileprivate func check() throws(CSDLProblem) {
        var names: Set<String> = []
        for member in properties.map(\.name) + navigation.map(\.name) where !names.insert(member).inserted {
            throw CSDLProblem("\(name) has two properties \(member).")
        }
        for part in key where part.path.count == 1 {
            guard let property = property(part.path[0]) else {
                throw CSDLProblem("The key of \(name) names \(part.path[0]), which is no property of it.")
            }
            if case .primitive(let type) = property.type.type, !type.canBeKey || property.type.isCollection {
                throw CSDLProblem("\(name)/\(property.name) cannot be part of a key.")
            }
        }
        if let missing = navigation.lazy.flatMap(\.constraints).first(where: { self.property($0.property) == nil }) {
            throw CSDLProblem("A constraint of \(name) names \(missing.property), which is no property of it.")
        }
    }
}
