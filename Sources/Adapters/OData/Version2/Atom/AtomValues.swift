import AdapterKit
import ODataModel
import ODataRecords

/// Stored values as elements of `m:properties` ([MS-ODATA], section 2.2.6.2.2).
struct AtomValues: Sendable {
    let model: EntityDataModel
    private var form: Version2Form { Version2Form(model: model) }

    /// A value within its property's element, or with it where that says what the value is. Null is not among them.
    func write(_ value: WireValue, _ property: AtomProperty, to output: inout XMLOutput) {
        let (shape, type) = (property.shape, property.type)
        if case .complex = shape { return write(value, property.element, shape, type, property.members, to: &output) }
        content(value, shape, type, property.members, to: &output)
    }

    /// A document with one property, or the items of a collection that a function answers.
    func document(_ property: Version2Property, to output: inout XMLOutput) {
        let namespaces = [("xmlns:d", Version2Namespace.data), ("xmlns:m", Version2Namespace.metadata)]
        let shape = model.version2Shape(of: property.type.item)
        output.begin("d:\(property.name)", namespaces)
        if property.type.isCollection {
            let element = AtomElement("element", shape)
            for item in property.value.arrayValue ?? [] {
                write(item, element, shape, property.type.item, nil, to: &output)
            }
        } else {
            if shape.typeName != Version2Type.string.description { output.attribute("m:type", shape.typeName) }
            if property.value.isNull { output.attribute("m:null", "true") }
            content(property.value, shape, property.type, nil, to: &output)
        }
        output.end()
    }

    private func write(
        _ value: WireValue, _ element: AtomElement, _ shape: Version2Shape, _ type: TypeReference,
        _ members: [[String]]?, to output: inout XMLOutput
    ) {
        let isEmptyList = value.isNull && type.isCollection
        guard !value.isNull || isEmptyList else { return output.raw(element.null) }
        if case .complex = shape, let actual = value["@type"]?.stringValue {
            output.raw(element.open(as: actual))
        } else {
            output.raw(element.open)
        }
        content(value, shape, type, members, to: &output)
        output.raw(element.close)
    }

    private func content(
        _ value: WireValue, _ shape: Version2Shape, _ type: TypeReference, _ members: [[String]]?,
        to output: inout XMLOutput
    ) {
        switch shape {
        case .simple(let simple): if let text = form.text(of: value, as: simple, type) { output.text(text) }
        case .complex(let name): complex(value, name, members, to: &output)
        case .document: if let text = form.document(value, type) { output.text(text) }
        }
    }

    private func complex(
        _ value: WireValue, _ name: QualifiedName, _ members: [[String]]?, to output: inout XMLOutput
    ) {
        let actual = value["@type"]?.stringValue.flatMap { QualifiedName($0) } ?? name
        for property in model.structured(actual)?.properties ?? [] {
            let told = members?.filter { $0.first == property.name }.map { Array($0.dropFirst()) }
            if let told, told.isEmpty { continue }
            let shape = model.version2Shape(of: property.type)
            write(
                value[property.name] ?? .null, AtomElement(property.name, shape), shape, property.type,
                told.flatMap { $0.contains([]) ? nil : $0 }, to: &output)
        }
    }
}
