import ODataModel
import ODataRecords

extension RecordTable {
    /// Whether the service makes the keys: the one property of the key is annotated with `Core.Computed`, and no text,
    /// which only a client can choose. A key that is sent is ignored.
    func makesKeys(_ model: EntityDataModel) -> Bool {
        guard case .property(let name) = key, let property = type.property(name),
            property.annotations.isTagged(CoreTerm.computed)
        else { return false }
        return model.primitive(behind: property.type.type) != .string
    }
}
