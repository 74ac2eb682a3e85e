import AdapterKit
import ODataModel
import ODataRecords
import WireFormats

/// Between the two versions: stored values as version 4's JSON says them, and values that version 2 has no type for.
extension Version2Form {
    /// A simple value as version 4's JSON would have it.
    func version4(_ stored: WireValue, _ type: TypeReference) -> WireValue {
        switch stored {
        case .null, .bool, .string: return stored
        case .double(let number) where number.isFinite: return stored
        case .int64, .decimal:
            let isNumber = model.primitive(behind: type.type)?.isNumeric == true
            if isNumber, type.type.schemaName.flatMap({ model.enumeration($0) }) == nil { return stored }
        default: break
        }
        return StoredForm(model: model).text(of: stored, type: type).map { .string($0) } ?? stored
    }

    /// Collections, places and values of no particular type: version 4's JSON as a text.
    func document(_ stored: WireValue, _ type: TypeReference) -> String? {
        guard !stored.isNull else { return nil }
        var output = JSONOutput(capacity: 64)
        ValueWriter(model: model, format: ResponseFormat()).write(stored, type, to: &output)
        return String(decoding: output.bytes, as: UTF8.self)
    }

    /// What such a text says, in the terms of version 4's JSON. Throws `request.invalid` where it is no JSON.
    func value(document text: String, at path: String) throws(PorticoError) -> WireValue {
        do {
            return try JSONFormat().read(Array(text.utf8), limits: ReadingLimits())
        } catch {
            throw PorticoError(.requestInvalid, "\(path) is a text that holds JSON.", target: path)
        }
    }
}
