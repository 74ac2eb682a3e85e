import AdapterKit
import ODataModel
import ODataRecords

/// Stored values in version 2's JSON.
struct Version2JSONValues: Sendable {
    private let model: EntityDataModel
    private let form: Version2Form

    init(model: EntityDataModel) {
        self.model = model
        form = Version2Form(model: model)
    }

    /// Most values need no look at the model.
    func write(_ value: WireValue, _ property: Version2Level.Property, to output: inout JSONOutput) {
        switch (property.simple, value) {
        case (_, .null): output.null()
        case (.string, .string(let text)), (.guid, .string(let text)): output.string(text)
        case (.int32, .int64(let number)), (.int16, .int64(let number)), (.byte, .int64(let number)),
            (.sByte, .int64(let number)):
            output.raw(String(number))
        case (.int64, .int64(let number)): output.string(String(number))
        case (.boolean, .bool(let flag)): output.raw(flag ? "true" : "false")
        default:
            guard let simple = property.simple, let json = form.json(value, as: simple, property.type) else {
                return write(value, property.type, members: property.members, to: &output)
            }
            write(json, to: &output)
        }
    }

    /// `members` says which parts of a complex value are told, by path; nil: all.
    func write(
        _ value: WireValue, _ type: TypeReference, members: [[String]]? = nil, to output: inout JSONOutput
    ) {
        guard let json = form.json(value, type) else { return composite(value, type, members, to: &output) }
        write(json, to: &output)
    }

    private func write(_ json: Version2JSON, to output: inout JSONOutput) {
        switch json {
        case .plain(let text): output.raw(text)
        case .text(let text): output.string(text)
        }
    }

    private func composite(
        _ value: WireValue, _ type: TypeReference, _ members: [[String]]?, to output: inout JSONOutput
    ) {
        guard !value.isNull else { return output.null() }
        guard !type.isCollection, case .complex(let name) = type.type else {
            return form.document(value, type).map { output.string($0) } ?? output.null()
        }
        let actual = value["@type"]?.stringValue.flatMap { QualifiedName($0) } ?? name
        output.beginObject()
        output.key("__metadata")
        output.beginObject()
        output.member("type", actual.description)
        output.endObject()
        for property in model.structured(actual)?.properties ?? [] {
            let told = members?.filter { $0.first == property.name }.map { Array($0.dropFirst()) }
            if told?.isEmpty == true { continue }
            output.key(property.name)
            let inner = told.flatMap { $0.contains([]) ? nil : $0 }
            write(value[property.name] ?? .null, property.type, members: inner, to: &output)
        }
        output.endObject()
    }
}
