import ODataLanguage
import ODataModel

extension Applier {
    /// A function as a transformation (Data Aggregation 4.0, section 3.6): one that the model has is not carried out, any
    /// other is a mistake.
    func custom(_ path: MemberPath) -> QueryProblem {
        guard let name = path.segments.first?.name, let namespace = name.namespace else {
            return QueryProblem("A transformation is expected here.", at: path.range)
        }
        let model = reader.model
        let function = model.resolve(QualifiedName(namespace, name.name))
        guard model.operations[function] != nil else {
            return QueryProblem("There is no transformation \(namespace).\(name.name).", at: path.range)
        }
        return QueryProblem("Functions as transformations are not supported.", at: path.range, kind: .notSupported)
    }
}
