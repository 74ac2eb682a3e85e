import ODataAddresses
import ODataModel
import ODataRecords

extension PropertyPath {
    /// What a binary property's bytes are: what `Core.MediaType` says of the property.
    func mediaType(in tables: ServiceTables) -> String {
        let declared = tables.tables.values.lazy
            .filter { $0.columns[column.property] == column }
            .compactMap { table in
                table.family.lazy.compactMap { tables.model.structured($0)?.property(column.property) }.first
            }
        return declared.first?.annotations[CoreTerm.mediaType]?.stringValue ?? StreamHandler.standardType
    }
}
