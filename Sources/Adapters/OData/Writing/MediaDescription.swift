import AdapterKit
import ODataModel

/// What is known of a media entity that is created from its bytes alone. By convention of this adapter, properties of
/// these names take it: `ContentType`, `Size`, `Name` (from `Slug`). Other texts that must have a value are empty.
struct MediaDescription {
    let type: String
    let name: String?
    let size: Int

    func describe(_ payload: inout EntityPayload, model: EntityDataModel) {
        for property in payload.type.properties where payload.values[property.name] == nil {
            let primitive = model.primitive(behind: property.type.type)
            switch (property.name, primitive) {
            case ("ContentType", .string): payload.values[property.name] = .string(type)
            case ("Size", _) where primitive?.isInteger == true: payload.values[property.name] = .int64(Int64(size))
            case ("Name", .string): payload.values[property.name] = .string(name ?? "")
            case (_, .string):
                guard !property.type.isNullable, property.defaultValue == nil, !payload.type.isKey(property.name) else {
                    continue
                }
                payload.values[property.name] = ""
            default: continue
            }
        }
    }
}
