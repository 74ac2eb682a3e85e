import ODataLanguage
import ODataModel
import ODataRecords

extension Applier {
    /// What is computed has a name that nothing else has (Data Aggregation 4.0, section 3.4.2).
    func checkNew(_ item: ComputeItem, in rows: AppliedRows) throws(QueryProblem) {
        var isTaken =
            rows.columns.contains { $0.path.first == item.name } || rows.nested.contains { $0.name == item.name }
        if case .entities(let place) = rows.content {
            let type = reader.model.structured(place.type)
            isTaken = isTaken || type?.property(item.name) != nil || type?.navigation(item.name) != nil
        }
        if isTaken { throw QueryProblem("There is a property \(item.name) already.", at: item.nameRange) }
    }
}
