import WireFormats

/// A schema document, and how its names are meant.
struct SchemaDocument: Sendable {
    let root: XMLElement
    let file: String
    /// Its own target namespace, or that of the schema that includes it.
    let targetNamespace: String

    var qualifiesElements: Bool { root.attribute("elementFormDefault") == "qualified" }
    var qualifiesAttributes: Bool { root.attribute("attributeFormDefault") == "qualified" }

    func problem(_ message: String, _ element: XMLElement) -> SchemaProblem {
        SchemaProblem(message, file: file, line: element.line)
    }
}

/// Makes the types and elements of schema documents (XML Schema 1.0, part 1 and 2).
///
/// What is not mapped becomes ``XMLSchemaType/unmapped(_:)`` at its place, so that it matters only where it is used.
struct SchemaReader {
    /// The declarations that all documents together may have, those of groups counted at each use.
    static let maximumDeclarations = 100_000
    /// How often types may be derived from one another, and groups refer to one another.
    static let maximumDerivations = 64

    private struct Global {
        let element: XMLElement
        let document: SchemaDocument
    }

    private enum Kind: String, CaseIterable {
        case element, complexType, simpleType, group, attributeGroup, attribute
    }

    private struct Key: Hashable {
        let kind: Kind
        let name: QName
    }

    private var globals: [Key: Global] = [:]
    private var order: [Key] = []
    private var made: [QName: XMLSchemaType] = [:]
    private var left = SchemaReader.maximumDeclarations
    private var depth = 0
    private(set) var problems: [SchemaProblem] = []

    init(_ documents: [SchemaDocument]) {
        for document in documents { collect(document) }
    }

    private mutating func collect(_ document: SchemaDocument) {
        for element in document.root.children where element.namespace == XSD.namespace {
            if let kind = Kind(rawValue: element.name) {
                guard let name = element.attribute("name"), Self.isName(name) else {
                    problems.append(
                        document.problem("<\(element.name)> has no name, or one that XML does not have", element))
                    continue
                }
                let key = Key(kind: kind, name: QName(name, in: document.targetNamespace))
                if globals.updateValue(Global(element: element, document: document), forKey: key) == nil {
                    order.append(key)
                }
            } else if !["import", "include", "annotation", "notation"].contains(element.name) {
                problems.append(document.problem("<\(element.name)> is not mapped", element))
            }
        }
    }

    mutating func schemaSet() -> XMLSchemaSet {
        var schema = XMLSchemaSet()
        for key in order {
            guard let global = globals[key] else { continue }
            switch key.kind {
            case .complexType, .simpleType: schema.add(type(named: key.name), named: key.name)
            case .element: schema.add(globalElement(global, named: key.name))
            case .group, .attributeGroup, .attribute: continue
            }
        }
        return schema
    }

    private mutating func globalElement(_ global: Global, named name: QName) -> ElementDeclaration {
        ElementDeclaration(
            name, typeReference(of: global.element, global.document), .once,
            isNillable: Self.isTrue(global.element.attribute("nillable")))
    }

    /// Types that are derived from themselves end as unmapped.
    private mutating func type(named name: QName) -> XMLSchemaType {
        if let type = made[name] { return type }
        if name.namespace == XSD.namespace {
            if name.name == "anyType" { return .any }
            if let simple = SimpleType.builtIn(name.name) { return .simple(simple) }
        }
        if let global = globals[Key(kind: .complexType, name: name)] {
            let problem = global.document.problem("the type \(name.name) is derived from itself", global.element)
            made[name] = .unmapped(problem)
            made[name] = nested(global) { $0.complexType($1.element, $1.document) }
        } else if let global = globals[Key(kind: .simpleType, name: name)] {
            let problem = global.document.problem("the type \(name.name) is derived from itself", global.element)
            made[name] = .unmapped(problem)
            made[name] = nested(global) { $0.simpleType($1.element, $1.document) }
        }
        return made[name] ?? .unmapped(SchemaProblem("there is no type \(name)"))
    }

    private mutating func nested(
        _ global: Global, _ make: (inout SchemaReader, Global) -> XMLSchemaType
    ) -> XMLSchemaType {
        guard depth < Self.maximumDerivations else {
            return .unmapped(
                global.document.problem("more than \(Self.maximumDerivations) derivations", global.element))
        }
        depth += 1
        defer { depth -= 1 }
        return make(&self, global)
    }

    // MARK: Elements and attributes

    private mutating func typeReference(of element: XMLElement, _ document: SchemaDocument) -> XMLTypeReference {
        if Self.isTrue(element.attribute("abstract")) {
            return .anonymous(
                .unmapped(document.problem("abstract elements and their substitutions are not mapped", element)))
        }
        if let text = element.attribute("type") {
            guard let name = qualifiedName(text, element, document) else {
                return .anonymous(.unmapped(document.problem("\(text) has no namespace", element)))
            }
            guard isKnown(name) else {
                return .anonymous(.unmapped(document.problem("there is no type \(name)", element)))
            }
            return .named(name)
        }
        if let inner = element.first("complexType", in: XSD.namespace) {
            return .anonymous(complexType(inner, document))
        }
        if let inner = element.first("simpleType", in: XSD.namespace) { return .anonymous(simpleType(inner, document)) }
        return .named(QName("anyType", in: XSD.namespace))
    }

    private func isKnown(_ name: QName) -> Bool {
        globals[Key(kind: .complexType, name: name)] != nil || globals[Key(kind: .simpleType, name: name)] != nil
            || name.namespace == XSD.namespace && (name.name == "anyType" || SimpleType.builtIn(name.name) != nil)
    }

    /// In a schema without a target namespace that is included, names without a prefix are of the includer's.
    private func qualifiedName(_ text: String, _ element: XMLElement, _ document: SchemaDocument) -> QName? {
        guard let name = QName(text, of: element) else { return nil }
        guard name.namespace.isEmpty, document.root.attribute("targetNamespace") == nil else { return name }
        return QName(name.name, in: document.targetNamespace)
    }

    private mutating func elementDeclaration(_ element: XMLElement, _ document: SchemaDocument) -> ElementDeclaration? {
        let occurrence = occurrence(of: element, document)
        if let text = element.attribute("ref") {
            guard let name = qualifiedName(text, element, document),
                let global = globals[Key(kind: .element, name: name)]
            else {
                problems.append(document.problem("there is no element \(text)", element))
                return nil
            }
            // The type of a global element that has none of its own is named by it, for it may contain itself.
            let type: XMLTypeReference =
                global.element.attribute("type") == nil && global.element.first("complexType", in: XSD.namespace) != nil
                ? .named(elementTypeName(name, global)) : typeReference(of: global.element, global.document)
            return ElementDeclaration(
                name, type, occurrence, isNillable: Self.isTrue(global.element.attribute("nillable")))
        }
        guard let name = element.attribute("name"), Self.isName(name) else {
            problems.append(document.problem("an element has neither a name of XML nor a reference", element))
            return nil
        }
        let isQualified = element.attribute("form").map { $0 == "qualified" } ?? document.qualifiesElements
        return ElementDeclaration(
            QName(name, in: isQualified ? document.targetNamespace : ""), typeReference(of: element, document),
            occurrence, isNillable: Self.isTrue(element.attribute("nillable")))
    }

    /// A name that no schema can have, for the anonymous type of a global element.
    private mutating func elementTypeName(_ name: QName, _ global: Global) -> QName {
        let typeName = QName("element \(name.name)", in: name.namespace)
        let key = Key(kind: .complexType, name: typeName)
        if globals[key] == nil, let inner = global.element.first("complexType", in: XSD.namespace) {
            globals[key] = Global(element: inner, document: global.document)
            pendingElementTypes.append(typeName)
        }
        return typeName
    }

    /// Anonymous types that were given names; they belong to the set too.
    private(set) var pendingElementTypes: [QName] = []

    mutating func addElementTypes(to schema: inout XMLSchemaSet) {
        while let name = pendingElementTypes.popLast() { schema.add(type(named: name), named: name) }
    }

    private mutating func occurrence(of element: XMLElement, _ document: SchemaDocument) -> Occurrence {
        func number(_ text: String) -> Int? { Int(text).flatMap { $0 >= 0 ? min($0, 1 << 30) : nil } }
        let minimum = element.attribute("minOccurs").map(number) ?? 1
        let text = element.attribute("maxOccurs") ?? "1"
        let maximum = text == "unbounded" ? nil : number(text)
        guard let minimum, maximum != nil || text == "unbounded" else {
            problems.append(document.problem("minOccurs or maxOccurs is no number", element))
            return .optional
        }
        return Occurrence(minimum: minimum, maximum: maximum)
    }

    private mutating func attributes(
        of element: XMLElement, _ document: SchemaDocument
    ) -> [AttributeDeclaration] {
        var found: [AttributeDeclaration] = []
        for child in element.children where child.namespace == XSD.namespace {
            switch child.name {
            case "attribute": if let attribute = attribute(child, document) { found.append(attribute) }
            case "attributeGroup":
                guard let text = child.attribute("ref"), let name = qualifiedName(text, child, document),
                    let group = globals[Key(kind: .attributeGroup, name: name)], depth < Self.maximumDerivations
                else {
                    problems.append(document.problem("the attribute group is nowhere, or contains itself", child))
                    continue
                }
                depth += 1
                found += attributes(of: group.element, group.document)
                depth -= 1
            default: continue
            }
        }
        return found
    }

    private mutating func attribute(_ element: XMLElement, _ document: SchemaDocument) -> AttributeDeclaration? {
        guard element.attribute("use") != "prohibited", takeDeclaration(element, document) else { return nil }
        let isRequired = element.attribute("use") == "required"
        if let text = element.attribute("ref") {
            guard let name = qualifiedName(text, element, document) else { return nil }
            let global = globals[Key(kind: .attribute, name: name)]
            let type = global.map { attributeType($0.element, $0.document) } ?? Self.text
            return AttributeDeclaration(name: name, type: type, isRequired: isRequired)
        }
        guard let name = element.attribute("name"), Self.isName(name) else { return nil }
        let isQualified = element.attribute("form").map { $0 == "qualified" } ?? document.qualifiesAttributes
        return AttributeDeclaration(
            name: QName(name, in: isQualified ? document.targetNamespace : ""),
            type: attributeType(element, document), isRequired: isRequired)
    }

    private static let text = XMLTypeReference.named(QName("string", in: XSD.namespace))

    private mutating func attributeType(_ element: XMLElement, _ document: SchemaDocument) -> XMLTypeReference {
        guard element.attribute("type") != nil || element.first("simpleType", in: XSD.namespace) != nil else {
            return Self.text
        }
        return typeReference(of: element, document)
    }

    /// False, and a problem once, where there are too many.
    private mutating func takeDeclaration(_ element: XMLElement, _ document: SchemaDocument) -> Bool {
        left -= 1
        if left == 0 {
            problems.append(document.problem("more than \(Self.maximumDeclarations) declarations", element))
        }
        return left > 0
    }

    /// Whether a name is written as it is without becoming markup: no white space, and of ASCII's signs `.`, `-` and `_`.
    private static func isName(_ text: String) -> Bool {
        !text.isEmpty
            && text.unicodeScalars.allSatisfy { scalar in
                !scalar.isASCII || scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                    || [".", "-", "_"].contains(scalar)
            }
    }

    static func isTrue(_ text: String?) -> Bool { text == "true" || text == "1" }
}

// MARK: Types

extension SchemaReader {
    private mutating func complexType(_ element: XMLElement, _ document: SchemaDocument) -> XMLSchemaType {
        guard !Self.isTrue(element.attribute("mixed")) else {
            return .unmapped(document.problem("mixed content is not mapped", element))
        }
        if let content = element.first("complexContent", in: XSD.namespace) {
            return derived(content, document) { $0.complexContent($1, from: $2, document, isExtension: $3) }
        }
        if let content = element.first("simpleContent", in: XSD.namespace) {
            return derived(content, document) { reader, element, base, _ in
                reader.simpleContent(element, from: base, document)
            }
        }
        return .complex(
            ComplexType(particle(inside: element, document), attributes: attributes(of: element, document)))
    }

    private mutating func derived(
        _ content: XMLElement, _ document: SchemaDocument,
        _ make: (inout SchemaReader, XMLElement, QName, Bool) -> XMLSchemaType
    ) -> XMLSchemaType {
        let extended = content.first("extension", in: XSD.namespace)
        guard let derivation = extended ?? content.first("restriction", in: XSD.namespace),
            let text = derivation.attribute("base"), let base = qualifiedName(text, derivation, document)
        else { return .unmapped(document.problem("<\(content.name)> has no base", content)) }
        return make(&self, derivation, base, extended != nil)
    }

    private mutating func complexContent(
        _ derivation: XMLElement, from base: QName, _ document: SchemaDocument, isExtension: Bool
    ) -> XMLSchemaType {
        guard base.namespace != XSD.encoding else {
            return .unmapped(document.problem("arrays of SOAP's encoding are not mapped", derivation))
        }
        let own = particle(inside: derivation, document)
        let added = attributes(of: derivation, document)
        switch type(named: base) {
        case .any: return .complex(ComplexType(own, attributes: added))
        case .complex(let parent):
            let names = Set(added.map(\.name))
            let attributes = parent.attributes.filter { !names.contains($0.name) } + added
            guard isExtension else { return .complex(ComplexType(own, attributes: attributes)) }
            let particles = [parent.particle, own].compactMap { $0 }
            return .complex(
                ComplexType(
                    particles.count < 2 ? particles.first : .group(.sequence, particles, .once), text: parent.text,
                    attributes: attributes))
        case .unmapped(let problem): return .unmapped(problem)
        case .simple: return .unmapped(document.problem("complex content is derived from a simple type", derivation))
        }
    }

    private mutating func simpleContent(
        _ derivation: XMLElement, from base: QName, _ document: SchemaDocument
    ) -> XMLSchemaType {
        let added = attributes(of: derivation, document)
        switch type(named: base) {
        case .simple: return .complex(ComplexType(text: .named(base), attributes: added))
        case .complex(let parent) where parent.text != nil:
            let names = Set(added.map(\.name))
            return .complex(
                ComplexType(
                    text: parent.text, attributes: parent.attributes.filter { !names.contains($0.name) } + added))
        case .unmapped(let problem): return .unmapped(problem)
        default: return .unmapped(document.problem("simple content is derived from a type without text", derivation))
        }
    }

    private mutating func particle(inside element: XMLElement, _ document: SchemaDocument) -> Particle? {
        for child in element.children where child.namespace == XSD.namespace {
            if let found = particle(child, document) { return found }
        }
        return nil
    }

    private mutating func particle(_ element: XMLElement, _ document: SchemaDocument) -> Particle? {
        guard element.namespace == XSD.namespace else { return nil }
        if let compositor = Particle.Compositor(rawValue: element.name) {
            let inner = element.children.compactMap { particle($0, document) }
            return .group(compositor, inner, occurrence(of: element, document))
        }
        switch element.name {
        case "element":
            guard takeDeclaration(element, document) else { return nil }
            return elementDeclaration(element, document).map(Particle.element)
        case "any": return .any(occurrence(of: element, document))
        case "group": return group(element, document)
        default: return nil
        }
    }

    private mutating func group(_ element: XMLElement, _ document: SchemaDocument) -> Particle? {
        guard let text = element.attribute("ref"), let name = qualifiedName(text, element, document),
            let global = globals[Key(kind: .group, name: name)], depth < Self.maximumDerivations,
            takeDeclaration(element, document)
        else {
            problems.append(document.problem("the group is nowhere, or contains itself", element))
            return nil
        }
        depth += 1
        defer { depth -= 1 }
        let outer = occurrence(of: element, document)
        guard let inner = particle(inside: global.element, global.document) else { return nil }
        return .group(.sequence, [inner], outer)
    }

    private mutating func simpleType(_ element: XMLElement, _ document: SchemaDocument) -> XMLSchemaType {
        if let restriction = element.first("restriction", in: XSD.namespace) {
            let facets = restriction.children.filter { $0.namespace == XSD.namespace }.compactMap { facet in
                facet.attribute("value").map { SimpleType.Facet(name: facet.name, value: $0) }
            }
            return simple(base: restriction, "base", document) { base in
                SimpleType(base.kind, base: base.base, isList: base.isList, facets: base.facets + facets)
            }
        }
        if let list = element.first("list", in: XSD.namespace) {
            return simple(base: list, "itemType", document) { SimpleType($0.kind, base: $0.base, isList: true) }
        }
        // Of a union every member is a text.
        return .simple(SimpleType(.string, base: "string"))
    }

    private mutating func simple(
        base element: XMLElement, _ attribute: String, _ document: SchemaDocument,
        _ make: (SimpleType) -> SimpleType
    ) -> XMLSchemaType {
        let base: XMLSchemaType
        if let text = element.attribute(attribute) {
            guard let name = qualifiedName(text, element, document) else {
                return .unmapped(document.problem("\(text) has no namespace", element))
            }
            base = type(named: name)
        } else if let inner = element.first("simpleType", in: XSD.namespace) {
            base = simpleType(inner, document)
        } else {
            return .unmapped(document.problem("the simple type has no base", element))
        }
        switch base {
        case .simple(let simple): return .simple(make(simple))
        case .unmapped(let problem): return .unmapped(problem)
        default: return .unmapped(document.problem("a simple type is derived from a complex one", element))
        }
    }
}
