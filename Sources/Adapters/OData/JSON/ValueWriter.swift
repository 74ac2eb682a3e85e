import AdapterKit
import ODataModel
import ODataRecords

/// Stored values as OData's JSON has them (JSON Format 4.01, section 7).
struct ValueWriter: Sendable {
    let model: EntityDataModel
    let format: ResponseFormat

    /// `members` says which parts of a complex value are told, by path; nil: all.
    func write(
        _ value: WireValue, _ type: TypeReference, members: [[String]]? = nil, to output: inout JSONOutput
    ) {
        guard type.isCollection else { return single(value, type, members, to: &output) }
        output.beginArray()
        for item in value.arrayValue ?? [] { single(item, type, members, to: &output) }
        output.endArray()
    }

    private func single(
        _ value: WireValue, _ type: TypeReference, _ members: [[String]]?, to output: inout JSONOutput
    ) {
        guard !value.isNull else { return output.null() }
        switch type.type {
        case .primitive(let primitive): self.primitive(value, primitive, to: &output)
        case .definition(let name): self.primitive(value, model.definition(name)?.underlying ?? .string, to: &output)
        case .enumeration(let name):
            output.string(value.int64Value.flatMap { model.enumeration(name)?.text(of: $0) } ?? "")
        case .complex(let name): complex(value, name, members, to: &output)
        case .entity, .abstract: output.value(value)
        }
    }

    private func primitive(_ value: WireValue, _ type: PrimitiveType, to output: inout JSONOutput) {
        switch type {
        case .boolean: output.raw(value == .bool(true) ? "true" : "false")
        case .int64, .decimal:
            let text = StoredForm.text(of: value, type) ?? "null"
            format.isIEEE754Compatible ? output.string(text) : output.raw(text)
        case .byte, .sByte, .int16, .int32: output.raw(StoredForm.text(of: value, type) ?? "null")
        case .double, .single:
            let text = StoredForm.text(of: value, type) ?? "null"
            value.doubleValue?.isFinite == false ? output.string(text) : output.raw(text)
        case .stream: output.null()
        default:
            if type.isSpatial { output.value(value) } else { output.string(StoredForm.text(of: value, type) ?? "") }
        }
    }

    private func complex(
        _ value: WireValue, _ name: QualifiedName, _ members: [[String]]?, to output: inout JSONOutput
    ) {
        output.beginObject()
        self.members(value, name, told: members, to: &output)
        output.endObject()
    }

    /// Whether the caller would rather not be told.
    func isLeftOut(_ value: WireValue, _ type: TypeReference, of property: StructuralProperty?) -> Bool {
        format.omitted?.leavesOut(value, type, of: property, StoredForm(model: model)) ?? false
    }

    /// A complex value's members, inside of an object that is open.
    func members(
        _ value: WireValue, _ name: QualifiedName, told members: [[String]]? = nil, to output: inout JSONOutput
    ) {
        let actual = value["@type"]?.stringValue.flatMap { QualifiedName($0) } ?? name
        if format.metadata != .none, actual != name || format.metadata == .full {
            output.member("@odata.type", "#\(actual)")
        }
        for property in model.structured(actual)?.properties ?? [] {
            let told = members?.filter { $0.first == property.name }.map { Array($0.dropFirst()) }
            if let told, told.isEmpty { continue }
            if isLeftOut(value[property.name] ?? .null, property.type, of: property) { continue }
            output.key(property.name)
            let inner = told.flatMap { $0.contains([]) ? nil : $0 }
            write(
                value[property.name] ?? (property.type.isCollection ? [] : .null), property.type, members: inner,
                to: &output)
        }
    }
}
