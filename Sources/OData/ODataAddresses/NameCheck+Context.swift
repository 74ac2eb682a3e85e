import ODataLanguage
import ODataModel
import ODataRecords

/// Context fragments: what they say is told must be in the model. Casts are qualified there.
extension NameCheck {
    func check(_ fragment: ContextFragment) throws(NameProblem) {
        guard let first = fragment.path.first else { return }
        guard var type = tables[first.name.name]?.type else {
            throw NameProblem(position: first.range.start, message: "There is no set or singleton \(first.name).")
        }
        for step in fragment.path.dropFirst() {
            guard let next = try self.type(after: type, step) else { return }
            type = next
        }
        try check(fragment.selection ?? [], of: type)
    }

    private func check(_ items: [ContextFragment.Item], of outer: StructuredType) throws(NameProblem) {
        for item in items {
            var type: StructuredType? = outer
            for step in item.path {
                guard let current = type else {
                    throw NameProblem(position: step.range.start, message: "Nothing is inside of this.")
                }
                type = try self.type(after: current, step)
            }
            if let type, !item.path.isEmpty { try check(item.selection ?? [], of: type) }
        }
    }

    /// Of what a property leads to or a cast says; nil for a property without members, and for an operation.
    private func type(
        after type: StructuredType, _ step: ContextFragment.Step
    ) throws(NameProblem) -> StructuredType? {
        let model = tables.model
        if let namespace = step.name.namespace {
            let name = model.resolve(QualifiedName(namespace, step.name.name))
            if let cast = model.structured(name), model.type(name, isA: type.name) { return cast }
            if model.operations[name] != nil { return nil }
        } else if let navigation = type.navigation(step.name.name) {
            return model.structured(navigation.target)
        } else if let property = type.property(step.name.name) {
            return model.structured(property.type.type)
        }
        throw NameProblem(
            position: step.range.start, message: "\(type.name.name) has no property \(step.name).")
    }
}
