extension ServiceDefinition {
    /// The WSDL 1.1: document/literal wrapped, a port for SOAP 1.1 and one for SOAP 1.2. `address`: where it is called.
    public func wsdl(address: String) -> [UInt8] {
        var writer = XMLWriter()
        writer.begin(
            prefixed: "wsdl:definitions",
            [
                ("xmlns:wsdl", XSD.wsdl), ("xmlns:soap", XSD.soap11Binding), ("xmlns:soap12", XSD.soap12Binding),
                ("xmlns:xs", XSD.namespace), ("xmlns:tns", namespace), ("targetNamespace", namespace), ("name", name),
            ])
        writer.begin(prefixed: "wsdl:types")
        SchemaWriter(schema: schema, namespace: namespace).write(to: &writer)
        writer.end()
        for operation in operations {
            message("\(operation.name)Request", operation.input.name.name, &writer)
            message("\(operation.name)Response", operation.output.name.name, &writer)
        }
        message(Self.faultName, Self.faultName, &writer)
        portType(&writer)
        for version in SOAPVersion.allCases { binding(version, &writer) }
        writer.begin(prefixed: "wsdl:service", [("name", name)])
        for version in SOAPVersion.allCases {
            writer.begin(prefixed: "wsdl:port", [("name", port(version)), ("binding", "tns:\(bindingName(version))")])
            writer.element(prefixed: "\(version.prefix):address", [("location", address)])
            writer.end()
        }
        writer.end()
        writer.end()
        return writer.bytes
    }

    private func message(_ name: String, _ element: String, _ writer: inout XMLWriter) {
        writer.begin(prefixed: "wsdl:message", [("name", name)])
        writer.element(prefixed: "wsdl:part", [("name", "parameters"), ("element", "tns:\(element)")])
        writer.end()
    }

    private func portType(_ writer: inout XMLWriter) {
        writer.begin(prefixed: "wsdl:portType", [("name", name)])
        for operation in operations {
            writer.begin(prefixed: "wsdl:operation", [("name", operation.name)])
            writer.element(prefixed: "wsdl:input", [("message", "tns:\(operation.name)Request")])
            writer.element(prefixed: "wsdl:output", [("message", "tns:\(operation.name)Response")])
            writer.element(
                prefixed: "wsdl:fault", [("name", Self.faultName), ("message", "tns:\(Self.faultName)")])
            writer.end()
        }
        writer.end()
    }

    private func binding(_ version: SOAPVersion, _ writer: inout XMLWriter) {
        let soap = version.prefix
        writer.begin(prefixed: "wsdl:binding", [("name", bindingName(version)), ("type", "tns:\(name)")])
        writer.element(prefixed: "\(soap):binding", [("style", "document"), ("transport", XSD.httpTransport)])
        for operation in operations {
            writer.begin(prefixed: "wsdl:operation", [("name", operation.name)])
            writer.element(prefixed: "\(soap):operation", [("soapAction", "")])
            for direction in ["wsdl:input", "wsdl:output"] {
                writer.begin(prefixed: direction)
                writer.element(prefixed: "\(soap):body", [("use", "literal")])
                writer.end()
            }
            writer.begin(prefixed: "wsdl:fault", [("name", Self.faultName)])
            writer.element(prefixed: "\(soap):fault", [("name", Self.faultName), ("use", "literal")])
            writer.end()
            writer.end()
        }
        writer.end()
    }

    private func bindingName(_ version: SOAPVersion) -> String { "\(name)\(version.prefix.uppercased())Binding" }
    private func port(_ version: SOAPVersion) -> String { "\(name)\(version.prefix.uppercased())Port" }
}

extension SOAPVersion {
    fileprivate var prefix: String { self == .soap11 ? "soap" : "soap12" }
}

/// Writes the schema of one namespace, its elements qualified. The prefixes `xs` and `tns` are declared around it.
private struct SchemaWriter {
    let schema: XMLSchemaSet
    let namespace: String

    func write(to writer: inout XMLWriter) {
        writer.begin(
            prefixed: "xs:schema", [("targetNamespace", namespace), ("elementFormDefault", "qualified")])
        for name in schema.elementNames where name.namespace == namespace {
            if let element = schema.element(name) { write(element, isGlobal: true, &writer) }
        }
        for name in schema.typeNames where name.namespace == namespace {
            if let type = schema.type(named: name) { write(type, [("name", name.name)], &writer) }
        }
        writer.end()
    }

    private func write(_ element: ElementDeclaration, isGlobal: Bool, _ writer: inout XMLWriter) {
        var attributes: [XMLWriter.Attribute] = [("name", element.name.name)]
        if !isGlobal { attributes += occurs(element.occurrence) }
        if element.isNillable { attributes.append(("nillable", "true")) }
        switch element.type {
        case .named(let name): writer.element(prefixed: "xs:element", attributes + [("type", prefixed(name))])
        case .anonymous(let type):
            writer.begin(prefixed: "xs:element", attributes)
            write(type, [], &writer)
            writer.end()
        }
    }

    private func write(_ type: XMLSchemaType, _ attributes: [XMLWriter.Attribute], _ writer: inout XMLWriter) {
        switch type {
        case .simple(let simple):
            writer.begin(prefixed: "xs:simpleType", attributes)
            writer.begin(prefixed: "xs:restriction", [("base", "xs:\(simple.base)")])
            for facet in simple.facets { writer.element(prefixed: "xs:\(facet.name)", [("value", facet.value)]) }
            writer.end()
            writer.end()
        case .complex(let complex):
            writer.begin(prefixed: "xs:complexType", attributes)
            if let particle = complex.particle { write(particle, &writer) }
            writer.end()
        // Shapes make none of them.
        case .any, .unmapped: return
        }
    }

    private func write(_ particle: Particle, _ writer: inout XMLWriter) {
        switch particle {
        case .element(let element): write(element, isGlobal: false, &writer)
        case .any(let occurrence):
            writer.element(
                prefixed: "xs:any", occurs(occurrence) + [("namespace", "##other"), ("processContents", "lax")])
        case .group(let compositor, let particles, let occurrence):
            writer.begin(prefixed: "xs:\(compositor.rawValue)", occurs(occurrence))
            for particle in particles { write(particle, &writer) }
            writer.end()
        }
    }

    private func occurs(_ occurrence: Occurrence) -> [XMLWriter.Attribute] {
        var attributes: [XMLWriter.Attribute] = []
        if occurrence.minimum != 1 { attributes.append(("minOccurs", String(occurrence.minimum))) }
        if occurrence.maximum != 1 {
            attributes.append(("maxOccurs", occurrence.maximum.map { String($0) } ?? "unbounded"))
        }
        return attributes
    }

    private func prefixed(_ name: QName) -> String {
        name.namespace == XSD.namespace ? "xs:\(name.name)" : "tns:\(name.name)"
    }
}
