import AdapterKit

/// A SOAP service that is served: its operations, and the schema made of their shapes (document/literal wrapped).
///
/// An operation is an element of its name with one element ``inputName``, answered by an element of its name and
/// `Response` with one element ``outputName``.
public struct ServiceDefinition: Sendable {
    /// One operation that is served.
    public struct Operation: Sendable {
        /// The operation's name, which is the local name of its element.
        public let name: String
        /// The element of a request's body.
        public let input: ElementDeclaration
        /// The element of an answer's body.
        public let output: ElementDeclaration
    }

    /// The element inside of a request's.
    public static let inputName = "input1"
    /// The element inside of an answer's.
    public static let outputName = "output1"
    /// The element of a fault's detail, and the members of it.
    public static let faultName = "serviceFault"
    /// The code of ``ErrorCode``, the message, and the id of the request.
    public static let faultMembers = ["errorCode", "errorMessage", "requestId"]

    /// The name of the service and of its port type.
    public let name: String
    /// The namespace of everything that it declares.
    public let namespace: String
    /// In the order in which they were declared.
    public let operations: [Operation]
    /// The types of the messages.
    public let schema: XMLSchemaSet

    /// Makes the service of shapes.
    public init(
        _ name: String, namespace: String, operations: [(name: String, input: ObjectShape, output: Shape)]
    ) {
        var builder = ShapeSchema(namespace: namespace)
        self.name = name
        self.namespace = namespace
        self.operations = operations.map { operation in
            Operation(
                name: operation.name,
                input: builder.wrapper(operation.name, Self.inputName, .object(operation.input)),
                output: builder.wrapper(operation.name + "Response", Self.outputName, operation.output))
        }
        let text = XMLTypeReference.named(QName("string", in: XSD.namespace))
        let members = Self.faultMembers.map { Particle.element(ElementDeclaration(QName($0, in: namespace), text)) }
        builder.schema.add(
            ElementDeclaration(
                QName(Self.faultName, in: namespace),
                .anonymous(.complex(ComplexType(.group(.sequence, members, .once))))))
        schema = builder.schema
    }

    /// The operation whose element this is.
    public func operation(_ element: QName) -> Operation? { operations.first { $0.input.name == element } }

    /// Whether an action (`SOAPAction`, or the parameter `action` of SOAP 1.2) names another operation than the body's.
    ///
    /// The action is a hint, which the WSDL leaves empty (WS-I Basic Profile 1.1, R2745); what it names is at its end:
    /// `urn:x#find`, `http://x/Search/find`, `http://x/Search/findRequest`. One that names no operation says nothing.
    public func contradicts(action: String, called: Operation) -> Bool {
        let name = action.filter { $0 != "\"" && !$0.isWhitespace }.split { "/#:".contains($0) }.last ?? ""
        func isNamed(_ operation: Operation) -> Bool { name == operation.name || name == operation.name + "Request" }
        return !isNamed(called) && operations.contains(where: isNamed)
    }

    /// The operation's answer. Throws for a value that XML cannot carry.
    public func writeResponse(
        _ value: WireValue, of operation: Operation, in version: SOAPVersion
    ) throws(SOAPValueProblem) -> [UInt8] {
        try version.message(SOAPValue(operation.output, [Self.outputName: value]), schema)
    }

    /// A failure, whose detail has the members ``faultMembers``.
    public func fault(_ fault: SOAPFault, in version: SOAPVersion, detail: [String]) -> [UInt8] {
        version.fault(
            fault, detail: QName(Self.faultName, in: namespace),
            zip(Self.faultMembers, detail).map { (name: $0, value: $1) })
    }
}

/// Makes a schema of shapes: an object becomes a complex type of its name, a list an element that repeats.
private struct ShapeSchema {
    let namespace: String
    var schema = XMLSchemaSet()

    mutating func wrapper(_ name: String, _ member: String, _ shape: Shape) -> ElementDeclaration {
        let inner = Particle.element(ElementDeclaration(QName(member, in: namespace), type(shape)))
        let element = ElementDeclaration(
            QName(name, in: namespace), .anonymous(.complex(ComplexType(.group(.sequence, [inner], .once)))))
        schema.add(element)
        return element
    }

    private mutating func type(_ shape: Shape) -> XMLTypeReference {
        switch shape {
        case .any: builtIn("anyType")
        case .bool: builtIn("boolean")
        case .integer(let limits): integer(limits)
        case .double: builtIn("double")
        case .decimal(let scale):
            scale.map { simple(.decimal, "decimal", [("fractionDigits", String($0))]) } ?? builtIn("decimal")
        case .string(let limits): string(limits)
        case .choice(let texts): simple(.string, "string", texts.map { ("enumeration", $0) })
        case .date: builtIn("dateTime")
        case .data: builtIn("base64Binary")
        case .list(let item):
            .anonymous(.complex(ComplexType(.group(.sequence, [element("item", item, .many)], .once))))
        case .object(let object): .named(named(object))
        }
    }

    /// Objects of one name and other members get a number each.
    private mutating func named(_ object: ObjectShape) -> QName {
        let particles = object.members.map { member in
            if case .list(let item) = member.shape { return element(member.name.text, item, .many) }
            return element(
                member.name.text, member.shape, member.isRequired ? .once : .optional, isNillable: member.isNullable)
        }
        let type = XMLSchemaType.complex(
            ComplexType(.group(.sequence, particles + (object.isOpen ? [.any(.many)] : []), .once)))
        var (name, number) = (QName(object.name, in: namespace), 1)
        while let other = schema.type(named: name), other != type {
            number += 1
            name = QName("\(object.name)\(number)", in: namespace)
        }
        schema.add(type, named: name)
        return name
    }

    private mutating func element(
        _ name: String, _ shape: Shape, _ occurrence: Occurrence, isNillable: Bool = false
    ) -> Particle {
        .element(ElementDeclaration(QName(name, in: namespace), type(shape), occurrence, isNillable: isNillable))
    }

    private func builtIn(_ name: String) -> XMLTypeReference { .named(QName(name, in: XSD.namespace)) }

    private func simple(_ kind: SimpleKind, _ base: String, _ facets: [(String, String)]) -> XMLTypeReference {
        .anonymous(
            .simple(SimpleType(kind, base: base, facets: facets.map { SimpleType.Facet(name: $0.0, value: $0.1) })))
    }

    private func integer(_ limits: IntegerRange) -> XMLTypeReference {
        var facets: [(String, String)] = []
        if limits.range.lowerBound > .min { facets.append(("minInclusive", String(limits.range.lowerBound))) }
        if limits.range.upperBound < .max { facets.append(("maxInclusive", String(limits.range.upperBound))) }
        return facets.isEmpty ? builtIn("long") : simple(.integer, "long", facets)
    }

    private func string(_ limits: TextLimits) -> XMLTypeReference {
        var facets: [(String, String)] = []
        if limits.minimumLength > 0 { facets.append(("minLength", String(limits.minimumLength))) }
        if limits.maximumLength < TextLimits.defaultMaximum {
            facets.append(("maxLength", String(limits.maximumLength)))
        }
        return facets.isEmpty ? builtIn("string") : simple(.string, "string", facets)
    }
}
