import AdapterKit
import WireFormats

/// What a WSDL says: the operations that can be called, and their types.
public struct SOAPServiceDescription: Sendable {
    /// Operations with a SOAP binding of the style document/literal, in the order of the document. Where one is bound to
    /// both versions of SOAP, to 1.1.
    public let operations: [SOAPOperation]
    /// The types and elements of the messages.
    public let schema: XMLSchemaSet
    /// What was found that is not mapped or not right, beside what stands at its place in ``schema``.
    public let problems: [SchemaProblem]

    /// The operation of that name; nil where there is none that can be called.
    public func operation(_ name: String) -> SOAPOperation? { operations.first { $0.name == name } }

    /// What is not mapped in an operation's messages.
    public func problems(of operation: SOAPOperation) -> [SchemaProblem] {
        (operation.input + operation.output).flatMap { schema.problems(in: $0) }
    }
}

/// One operation of a service.
public struct SOAPOperation: Sendable, Equatable {
    /// The operation's name.
    public let name: String
    /// What `SOAPAction` says; empty: nothing.
    public let action: String
    /// The version of its messages.
    public let version: SOAPVersion
    /// Where the WSDL says that it is called; empty: nowhere.
    public let address: String
    /// The elements of the request's body; mostly one.
    public let input: [ElementDeclaration]
    /// The elements of the answer's body; none for an operation that answers nothing.
    public let output: [ElementDeclaration]

    /// The fields of a request's head beside the body, `Content-Type` and where it is due `SOAPAction`.
    public var fields: [(name: String, value: String)] {
        let quoted = "\"\(action.filter { $0 != "\"" && $0 != "\\" && $0.isASCII && $0 > " " })\""
        switch version {
        case .soap11: return [("Content-Type", "text/xml; charset=utf-8"), ("SOAPAction", quoted)]
        case .soap12:
            let parameter = action.isEmpty ? "" : "; action=\(quoted)"
            return [("Content-Type", "application/soap+xml; charset=utf-8\(parameter)")]
        }
    }

    /// A request. Of several parts the value is a dictionary by their names. Throws for a value that does not fit.
    public func request(
        _ value: WireValue, _ schema: XMLSchemaSet, security: UsernameToken? = nil
    ) throws(SOAPValueProblem) -> [UInt8] {
        let parts =
            input.count == 1
            ? input.map { SOAPValue.Part(element: $0, value: value) }
            : input.map { SOAPValue.Part(element: $0, value: value[$0.name.name] ?? .null) }
        return try version.message(SOAPValue(parts: parts), schema, security: security)
    }

    /// The value of an answer, as ``request(_:_:security:)`` takes one. Throws for another answer.
    public func readResponse(_ message: SOAPMessage, _ schema: XMLSchemaSet) throws(SOAPValueProblem) -> WireValue {
        var reader = SOAPValueReader(schema)
        var values = WireDictionary()
        for part in output {
            let element = message.body.first { QName($0.name, in: $0.namespace) == part.name }
            guard let element else {
                throw SOAPValueProblem(path: part.name.name, message: "the answer has no such element")
            }
            values[part.name.name] = try reader.read(element, as: part)
        }
        return output.count == 1 ? values.entries[0].value : .dictionary(values)
    }
}

/// Reads a WSDL 1.1 and what it imports and includes. Nothing is fetched: files come from `load`, by paths relative to
/// the first one's folder, which none of them leaves.
public struct ServiceDescriptionReader {
    /// Reads a file. Throws for one that cannot be read.
    public typealias Load = (_ path: String) throws -> [UInt8]

    /// The files that one description may have.
    public static let maximumFiles = 64
    /// The bytes that they have together at most.
    public static let maximumBytes = 16 << 20

    private let load: Load
    private var seen: Set<String> = []
    private var bytesLeft = ServiceDescriptionReader.maximumBytes
    private var definitions: [(element: XMLElement, file: String)] = []
    private var schemas: [SchemaDocument] = []
    private var problems: [SchemaProblem] = []

    /// Reads a description. Throws ``SchemaProblem`` where a file is missing, too large, or no WSDL.
    public static func read(_ file: String, load: @escaping Load) throws(SchemaProblem) -> SOAPServiceDescription {
        var reader = ServiceDescriptionReader(load: load)
        try reader.readDefinitions(file)
        return reader.description()
    }

    private init(load: @escaping Load) {
        self.load = load
    }

    /// `from`: the file and the element that name it.
    private mutating func document(_ file: String, from place: SchemaProblem?) throws(SchemaProblem) -> XMLElement? {
        guard seen.insert(file).inserted else { return nil }
        guard seen.count <= Self.maximumFiles else {
            throw SchemaProblem(
                "the description has more than \(Self.maximumFiles) files", file: place?.file ?? file,
                line: place?.line ?? 0)
        }
        let bytes: [UInt8]
        do { bytes = try load(file) } catch {
            throw SchemaProblem("\(file) cannot be read", file: place?.file ?? file, line: place?.line ?? 0)
        }
        bytesLeft -= bytes.count
        guard bytesLeft >= 0 else {
            throw SchemaProblem("the description has more than \(Self.maximumBytes >> 20) MiB", file: file)
        }
        do { return try XMLElement(xml: bytes) } catch {
            throw SchemaProblem(error.message, file: file, line: error.position?.line ?? 0)
        }
    }

    private mutating func readDefinitions(_ file: String, from place: SchemaProblem? = nil) throws(SchemaProblem) {
        guard let root = try document(file, from: place) else { return }
        if root.is("schema", in: XSD.namespace) { return try addSchema(root, file, includedBy: nil) }
        guard root.is("definitions", in: XSD.wsdl) else {
            let isNewer = root.is("description", in: "http://www.w3.org/ns/wsdl")
            throw SchemaProblem(
                isNewer ? "this is WSDL 2.0; 1.1 is read" : "this is no WSDL 1.1", file: file, line: root.line)
        }
        definitions.append((root, file))
        for element in root.all("import", in: XSD.wsdl) {
            try follow(element, "location", in: file) { reader, path, place throws(SchemaProblem) in
                try reader.readDefinitions(path, from: place)
            }
        }
        for types in root.all("types", in: XSD.wsdl) {
            for schema in types.all("schema", in: XSD.namespace) { try addSchema(schema, file, includedBy: nil) }
        }
    }

    private mutating func addSchema(
        _ root: XMLElement, _ file: String, includedBy namespace: String?
    ) throws(SchemaProblem) {
        let target = root.attribute("targetNamespace") ?? namespace ?? ""
        schemas.append(SchemaDocument(root: root, file: file, targetNamespace: target))
        for element in root.children where element.namespace == XSD.namespace {
            guard ["import", "include", "redefine", "override"].contains(element.name) else { continue }
            let includer = element.name == "import" ? nil : target
            try follow(element, "schemaLocation", in: file) { reader, path, place throws(SchemaProblem) in
                guard let schema = try reader.document(path, from: place) else { return }
                guard schema.is("schema", in: XSD.namespace) else {
                    throw SchemaProblem("this is no schema", file: path, line: schema.line)
                }
                try reader.addSchema(schema, path, includedBy: includer)
            }
        }
    }

    private mutating func follow(
        _ element: XMLElement, _ attribute: String, in file: String,
        _ read: (inout ServiceDescriptionReader, String, SchemaProblem) throws(SchemaProblem) -> Void
    ) throws(SchemaProblem) {
        // Without a location, a schema of the same description is meant.
        guard let location = element.attribute(attribute), !location.isEmpty else { return }
        guard let path = Self.path(location, from: file) else {
            throw SchemaProblem(
                "\(location.prefix(200)) is no file in the folder of the description; `porticoctl soap fetch` stores it there",
                file: file, line: element.line)
        }
        try read(&self, path, SchemaProblem("", file: file, line: element.line))
    }

    /// What a relative location means; nil for an address, an absolute path and one that leaves the folder.
    public static func path(_ location: String, from file: String) -> String? {
        guard location.utf8.first != UInt8(ascii: "/"), !location.utf8.contains(where: { ":\\\0".utf8.contains($0) })
        else {
            return nil
        }
        // By bytes, as the file system does: `/` and a combining mark after it are one `Character`.
        func names(_ path: String) -> [Substring] {
            path.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
        }
        var parts = names(file).dropLast().map(String.init)
        for part in names(location) where part != "." {
            if part != ".." {
                parts.append(String(part))
            } else if parts.popLast() == nil {
                return nil
            }
        }
        return parts.isEmpty ? nil : parts.joined(separator: "/")
    }
}

// MARK: From the documents to the description

extension ServiceDescriptionReader {
    private struct Named {
        let element: XMLElement
        let file: String
    }

    private mutating func description() -> SOAPServiceDescription {
        var reader = SchemaReader(schemas)
        var schema = reader.schemaSet()
        reader.addElementTypes(to: &schema)
        problems += reader.problems
        let messages = named("message")
        let portTypes = named("portType")
        let bindings = named("binding")
        var operations: [SOAPOperation] = []
        for service in named("service").ordered {
            for port in service.value.element.all("port", in: XSD.wsdl) {
                guard let name = port.attribute("binding").flatMap({ QName($0, of: port) }),
                    let binding = bindings.all[name]
                else {
                    problems.append(
                        SchemaProblem("the port has no binding", file: service.value.file, line: port.line))
                    continue
                }
                let found = read(binding, at: port, messages.all, portTypes.all, schema)
                for operation in found { Self.add(operation, to: &operations) }
            }
        }
        return SOAPServiceDescription(operations: operations, schema: schema, problems: problems)
    }

    private static func add(_ operation: SOAPOperation, to operations: inout [SOAPOperation]) {
        guard let index = operations.firstIndex(where: { $0.name == operation.name }) else {
            return operations.append(operation)
        }
        if operations[index].version == .soap12, operation.version == .soap11 { operations[index] = operation }
    }

    private func named(_ kind: String) -> (all: [QName: Named], ordered: [(key: QName, value: Named)]) {
        var ordered: [(key: QName, value: Named)] = []
        for (root, file) in definitions {
            let target = root.attribute("targetNamespace") ?? ""
            for element in root.all(kind, in: XSD.wsdl) {
                ordered.append(
                    (QName(element.attribute("name") ?? "", in: target), Named(element: element, file: file)))
            }
        }
        return (Dictionary(ordered.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first }), ordered)
    }

    private mutating func read(
        _ binding: Named, at port: XMLElement, _ messages: [QName: Named], _ portTypes: [QName: Named],
        _ schema: XMLSchemaSet
    ) -> [SOAPOperation] {
        let soap11 = binding.element.first("binding", in: XSD.soap11Binding)
        guard let soap = soap11 ?? binding.element.first("binding", in: XSD.soap12Binding) else {
            // Of HTTP GET and POST, which are no SOAP.
            return []
        }
        let version = soap11 == nil ? SOAPVersion.soap12 : .soap11
        let place = { (message: String, element: XMLElement) in
            SchemaProblem(message, file: binding.file, line: element.line)
        }
        if let transport = soap.attribute("transport"), transport != XSD.httpTransport,
            transport != "http://www.w3.org/2003/05/soap/bindings/HTTP/"
        {
            problems.append(place("a binding to another transport than HTTP is not called", soap))
            return []
        }
        guard let portTypeName = binding.element.attribute("type").flatMap({ QName($0, of: binding.element) }),
            let portType = portTypes[portTypeName]
        else {
            problems.append(place("the binding has no port type", binding.element))
            return []
        }
        let address =
            port.first("address", in: soap.namespace)?.attribute("location") ?? ""
        var operations: [SOAPOperation] = []
        for bound in binding.element.all("operation", in: XSD.wsdl) {
            let name = bound.attribute("name") ?? ""
            let own = bound.first("operation", in: soap.namespace)
            let style = own?.attribute("style") ?? soap.attribute("style") ?? "document"
            guard style == "document" else {
                problems.append(place("the operation \(name) has the style \(style); document is called", bound))
                continue
            }
            guard
                let declared = portType.element.all("operation", in: XSD.wsdl).first(where: {
                    $0.attribute("name") == name
                })
            else {
                problems.append(place("the port type has no operation \(name)", bound))
                continue
            }
            do {
                let input = try parts(
                    declared, bound, "input", soap.namespace, messages, schema, portType.file, binding.file)
                let output = try parts(
                    declared, bound, "output", soap.namespace, messages, schema, portType.file, binding.file)
                operations.append(
                    SOAPOperation(
                        name: name, action: own?.attribute("soapAction") ?? "", version: version, address: address,
                        input: input, output: output))
            } catch {
                problems.append(error)
            }
        }
        return operations
    }

    private func parts(
        _ declared: XMLElement, _ bound: XMLElement, _ direction: String, _ soap: String, _ messages: [QName: Named],
        _ schema: XMLSchemaSet, _ file: String, _ bindingFile: String
    ) throws(SchemaProblem) -> [ElementDeclaration] {
        guard let end = declared.first(direction, in: XSD.wsdl) else { return [] }
        guard let name = end.attribute("message").flatMap({ QName($0, of: end) }), let message = messages[name] else {
            throw SchemaProblem("there is no message for the \(direction)", file: file, line: end.line)
        }
        let boundEnd = bound.first(direction, in: XSD.wsdl)
        let body = boundEnd?.first("body", in: soap)
        guard body?.attribute("use") ?? "literal" == "literal" else {
            throw SchemaProblem(
                "the operation \(bound.attribute("name") ?? "") is encoded; literal is called", file: bindingFile,
                line: body?.line ?? bound.line)
        }
        if let header = boundEnd?.first("header", in: soap), direction == "input" {
            throw SchemaProblem(
                "the operation \(bound.attribute("name") ?? "") asks for a header, which is not sent",
                file: bindingFile,
                line: header.line)
        }
        let chosen = body?.attribute("parts").map { $0.split { xmlSpaces.contains($0) }.map(String.init) }
        var elements: [ElementDeclaration] = []
        for part in message.element.all("part", in: XSD.wsdl) {
            guard chosen?.contains(part.attribute("name") ?? "") ?? true else { continue }
            guard let text = part.attribute("element") else {
                throw SchemaProblem(
                    "the part \(part.attribute("name") ?? "") names a type; an element is called", file: message.file,
                    line: part.line)
            }
            guard let name = QName(text, of: part), let element = schema.element(name) else {
                throw SchemaProblem("there is no element \(text)", file: message.file, line: part.line)
            }
            elements.append(element)
        }
        return elements
    }
}
