import AdapterKit
import WireFormats

/// A value that does not fit its element.
public struct SOAPValueProblem: Error, Sendable, Equatable {
    /// The element's path, its names joined by points.
    public let path: String
    /// What is wrong, without an end and without the value.
    public let message: String
}

/// Reads elements to values by their types.
///
/// An element without attributes and elements is its text in the type's own kind, one with `xsi:nil` is null, any other is
/// a dictionary of its elements by their local names. An element that may come more than once is a list, however often
/// it comes. An attribute is a member of the name `@name`, the text beside attributes is `#text`. A text that does not
/// spell the type's kind stays a text, for the receiver's own check to refuse. What the schema does not name is read
/// without types.
public struct SOAPValueReader: Sendable {
    /// The values of one message at most.
    public static let defaultLimit = 1_000_000

    private let schema: XMLSchemaSet
    private var left: Int

    /// `limit`: how many elements and attributes are read at most.
    public init(_ schema: XMLSchemaSet, limit: Int = SOAPValueReader.defaultLimit) {
        self.schema = schema
        left = limit
    }

    /// Reads an element. Throws for one that stands twice and may not, and beyond the limit.
    public mutating func read(
        _ element: XMLElement, as declared: ElementDeclaration
    ) throws(SOAPValueProblem) -> WireValue {
        try value(element, declared.type, at: element.name)
    }

    private mutating func value(
        _ element: XMLElement, _ reference: XMLTypeReference, at path: String
    ) throws(SOAPValueProblem) -> WireValue {
        left -= 1
        guard left >= 0 else { throw SOAPValueProblem(path: path, message: "the message has too many values") }
        if ["true", "1"].contains(element.attribute("nil", in: XSD.instance)) { return .null }
        switch actualType(of: element, reference) {
        case .simple(let simple): return Self.value(element.text, simple)
        case .complex(let complex): return try value(element, complex, at: path)
        case .any, .unmapped: return try untyped(element, at: path)
        }
    }

    /// The one that `xsi:type` names where that is known.
    private func actualType(of element: XMLElement, _ reference: XMLTypeReference) -> XMLSchemaType {
        guard let text = element.attribute("type", in: XSD.instance), let name = QName(text, of: element),
            let type = schema.type(named: name)
        else { return schema.type(reference) }
        return type
    }

    private mutating func value(
        _ element: XMLElement, _ type: ComplexType, at path: String
    ) throws(SOAPValueProblem) -> WireValue {
        var members = WireDictionary()
        for attribute in element.attributes where attribute.namespace != XSD.instance {
            left -= 1
            let declared = type.attributes.first { $0.name == QName(attribute.name, in: attribute.namespace) }
            let simple = declared.flatMap { simpleType($0.type) }
            members.insert(
                simple.map { Self.value(attribute.value, $0) } ?? .string(attribute.value),
                forKey: ComplexType.attributePrefix + attribute.name)
        }
        if let text = type.text {
            let value = simpleType(text).map { Self.value(element.text, $0) } ?? .string(element.text)
            guard !type.attributes.isEmpty || !members.isEmpty else { return value }
            members[ComplexType.textMember] = value
            return .dictionary(members)
        }
        try readElements(element, type, at: path, into: &members)
        return .dictionary(members)
    }

    private mutating func readElements(
        _ element: XMLElement, _ type: ComplexType, at path: String, into members: inout WireDictionary
    ) throws(SOAPValueProblem) {
        let declared = type.elements
        let byName = Dictionary(declared.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var lists: [String: [WireValue]] = [:]
        for element in declared where element.occurrence.repeats { lists[element.name.name] = [] }
        for child in element.children {
            let place = "\(path).\(child.name)"
            let found = byName[QName(child.name, in: child.namespace)]
            let value = try found.map { found throws(SOAPValueProblem) in try self.value(child, found.type, at: place) }
            let read = if let value { value } else { try untyped(child, at: place) }
            if lists[child.name] != nil {
                lists[child.name]?.append(read)
                // Keeps the member's place.
                members.insert(.null, forKey: child.name)
            } else if !members.insert(read, forKey: child.name) {
                // Of what the schema does not name, the first counts.
                guard found == nil else { throw SOAPValueProblem(path: place, message: "the element stands twice") }
            }
        }
        for name in declared.map(\.name.name) {
            if let values = lists[name] { members[name] = .array(values) }
        }
    }

    private mutating func untyped(_ element: XMLElement, at path: String) throws(SOAPValueProblem) -> WireValue {
        left -= 1
        guard left >= 0 else { throw SOAPValueProblem(path: path, message: "the message has too many values") }
        if ["true", "1"].contains(element.attribute("nil", in: XSD.instance)) { return .null }
        guard !element.children.isEmpty else { return .string(element.text) }
        var lists: [String: [WireValue]] = [:]
        var names: [String] = []
        for child in element.children {
            let value = try untyped(child, at: "\(path).\(child.name)")
            if lists[child.name] == nil { names.append(child.name) }
            lists[child.name, default: []].append(value)
        }
        var members = WireDictionary()
        for name in names {
            let values = lists[name] ?? []
            members[name] = values.count == 1 ? values[0] : .array(values)
        }
        return .dictionary(members)
    }

    private func simpleType(_ reference: XMLTypeReference) -> SimpleType? {
        switch schema.type(reference) {
        case .simple(let simple): simple
        // A type that extends one with simple content has its text.
        case .complex(let complex): complex.text.flatMap { $0 == reference ? nil : simpleType($0) }
        case .any, .unmapped: nil
        }
    }

    private static func value(_ text: String, _ type: SimpleType) -> WireValue {
        guard !type.isList else {
            return .array(text.split { xmlSpaces.contains($0) }.map { value(String($0), type.kind) })
        }
        return value(text, type.kind)
    }

    private static func value(_ text: String, _ kind: SimpleKind) -> WireValue {
        guard kind != .string else { return .string(text) }
        let word = trimmed(text)
        let read: WireValue? =
            switch kind {
            case .string: nil
            case .boolean: ["true": true, "1": true, "false": false, "0": false][word].map(WireValue.bool)
            case .integer: integer(word)
            case .decimal: decimal(word)
            case .double: Double(word).flatMap { $0.isFinite ? .double($0) : nil }
            case .dateTime: WireDate(rfc3339: word).map(WireValue.date)
            case .base64Binary: Base64.decode(word.filter { !xmlSpaces.contains($0) }).map(WireValue.data)
            case .hexBinary: bytes(hexadecimal: word).map(WireValue.data)
            }
        return read ?? .string(text)
    }

    private static func integer(_ word: String) -> WireValue? {
        let digits = word.hasPrefix("+") ? String(word.dropFirst()) : word
        if let number = Int64(digits) { return .int64(number) }
        guard let number = WireDecimal(digits), number.exponent == 0 else { return nil }
        return .decimal(number)
    }

    /// XML Schema allows a sign, and a point without digits on one side of it.
    private static func decimal(_ word: String) -> WireValue? {
        var digits = word.hasPrefix("+") ? String(word.dropFirst()) : word
        guard !digits.contains(where: { "eE+".contains($0) }) else { return nil }
        if digits.hasSuffix(".") { digits.removeLast() }
        if digits.hasPrefix(".") { digits = "0" + digits }
        if digits.hasPrefix("-.") { digits = "-0" + digits.dropFirst() }
        return WireDecimal(digits).map(WireValue.decimal)
    }

    private static func bytes(hexadecimal word: String) -> [UInt8]? {
        let digits = word.utf8.map { Int(String(UnicodeScalar($0)), radix: 16) }
        guard digits.count.isMultiple(of: 2), !digits.contains(nil) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map {
            UInt8(truncatingIfNeeded: (digits[$0] ?? 0) << 4 | (digits[$0 + 1] ?? 0))
        }
    }
}

extension QName {
    /// A qualified name in a value, resolved by the declarations in force there; nil for an unknown prefix.
    init?(_ text: String, of element: XMLElement) {
        let parts = trimmed(text).split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let local = parts.last, !local.isEmpty else { return nil }
        let prefix = parts.count == 2 ? String(parts[0]) : ""
        guard let namespace = element.prefixes[prefix] ?? (prefix.isEmpty ? "" : nil) else { return nil }
        self.init(String(local), in: namespace)
    }
}

/// Writes values as elements by their types, the reverse of ``SOAPValueReader``.
struct SOAPValueWriter {
    let schema: XMLSchemaSet
    var writer: XMLWriter
    private var depth = 0

    init(schema: XMLSchemaSet, writer: XMLWriter) {
        self.schema = schema
        self.writer = writer
    }

    /// Throws for what is missing, for members that the type does not have, and for values of another kind.
    mutating func write(
        _ value: WireValue, as declared: ElementDeclaration, at path: String
    ) throws(SOAPValueProblem) {
        guard depth < XMLElement.maximumDepth else {
            throw SOAPValueProblem(path: path, message: "the value nests too deeply")
        }
        depth += 1
        defer { depth -= 1 }
        if value.isNull {
            guard declared.isNillable else { throw SOAPValueProblem(path: path, message: "it cannot be null") }
            writer.begin(declared.name, [("xsi:nil", "true")])
            writer.end()
            return
        }
        switch schema.type(declared.type) {
        case .simple(let simple): writer.element(declared.name, text: try text(value, simple, at: path))
        case .complex(let complex): try write(value, complex, as: declared.name, at: path)
        case .any: try writeUntyped(value, as: declared.name, at: path)
        case .unmapped(let problem): throw SOAPValueProblem(path: path, message: problem.message)
        }
    }

    private mutating func write(
        _ value: WireValue, _ type: ComplexType, as name: QName, at path: String
    ) throws(SOAPValueProblem) {
        let textOnly = type.text != nil && value.dictionaryValue == nil
        guard let members = textOnly ? [ComplexType.textMember: value] : value.dictionaryValue else {
            throw SOAPValueProblem(path: path, message: "it has members, and no other value")
        }
        var attributes: [XMLWriter.Attribute] = []
        for attribute in type.attributes {
            let place = "\(path).@\(attribute.name.name)"
            guard let value = members[ComplexType.attributePrefix + attribute.name.name], !value.isNull else {
                guard !attribute.isRequired else { throw SOAPValueProblem(path: place, message: "it is missing") }
                continue
            }
            guard case .simple(let simple) = schema.type(attribute.type), attribute.name.namespace.isEmpty else {
                throw SOAPValueProblem(path: place, message: "the attribute is not mapped")
            }
            attributes.append((attribute.name.name, try text(value, simple, at: place)))
        }
        writer.begin(name, attributes)
        if let reference = type.text {
            guard case .simple(let simple) = schema.type(reference) else {
                throw SOAPValueProblem(path: path, message: "the text's type is not mapped")
            }
            writer.text(try text(members[ComplexType.textMember] ?? "", simple, at: path))
        }
        if let particle = type.particle { try write(particle, of: members, index: nil, at: path) }
        writer.end()
    }

    /// `index`: which of the items of every list is written, inside of a group that repeats.
    private mutating func write(
        _ particle: Particle, of members: WireDictionary, index: Int?, at path: String
    ) throws(SOAPValueProblem) {
        switch particle {
        case .element(let element): try write(element, of: members, index: index, at: path)
        case .any: return
        case .group(let compositor, let particles, let occurrence):
            let rounds = occurrence.repeats && index == nil ? count(of: particle, in: members) : nil
            guard let rounds else {
                return try write(
                    compositor, particles, occurrence.minimum == 0, of: members, index: index, at: path)
            }
            for index in 0..<rounds {
                try write(compositor, particles, false, of: members, index: index, at: path)
            }
        }
    }

    private mutating func write(
        _ compositor: Particle.Compositor, _ particles: [Particle], _ isOptional: Bool, of members: WireDictionary,
        index: Int?, at path: String
    ) throws(SOAPValueProblem) {
        let present = particles.filter { particle in
            particle.elements.contains { has($0, members, index) }
        }
        guard compositor == .choice else {
            if isOptional, present.isEmpty { return }
            for particle in particles { try write(particle, of: members, index: index, at: path) }
            return
        }
        // In a choice that repeats, items of several lists stand one after the other.
        guard index != nil || present.count <= 1 else {
            throw SOAPValueProblem(path: path, message: "only one member of a choice can be given")
        }
        for particle in present { try write(particle, of: members, index: index, at: path) }
    }

    private func has(_ element: ElementDeclaration, _ members: WireDictionary, _ index: Int?) -> Bool {
        guard let value = members[element.name.name] else { return false }
        guard let items = value.arrayValue else { return index ?? 0 == 0 }
        return index.map { $0 < items.count } ?? !items.isEmpty
    }

    private func count(of particle: Particle, in members: WireDictionary) -> Int {
        particle.elements.map { element in
            members[element.name.name].map { $0.arrayValue?.count ?? 1 } ?? 0
        }.max() ?? 0
    }

    private mutating func write(
        _ element: ElementDeclaration, of members: WireDictionary, index: Int?, at path: String
    ) throws(SOAPValueProblem) {
        let place = "\(path).\(element.name.name)"
        let value = members[element.name.name]
        if let index, let items = value?.arrayValue {
            guard items.indices.contains(index) else { return try writeMissing(element, at: place) }
            return try write(items[index], as: element, at: place)
        }
        guard index ?? 0 == 0, let value, !(value.isNull && !element.isNillable) else {
            return try writeMissing(element, at: place)
        }
        guard element.occurrence.repeats, let items = value.arrayValue else {
            return try write(value, as: element, at: place)
        }
        for item in items { try write(item, as: element, at: place) }
    }

    private mutating func writeMissing(_ element: ElementDeclaration, at path: String) throws(SOAPValueProblem) {
        guard element.occurrence.minimum > 0 else { return }
        guard element.isNillable else { throw SOAPValueProblem(path: path, message: "it is missing") }
        try write(.null, as: element, at: path)
    }

    private func text(_ value: WireValue, _ type: SimpleType, at path: String) throws(SOAPValueProblem) -> String {
        guard type.isList else { return try text(value, type.kind, at: path) }
        var words: [String] = []
        for item in value.arrayValue ?? [value] {
            words.append(try text(item, type.kind, at: path))
        }
        return words.joined(separator: " ")
    }

    /// Numbers and texts stand for each other where they spell the same, as far as the kind goes.
    private func text(_ value: WireValue, _ kind: SimpleKind, at path: String) throws(SOAPValueProblem) -> String {
        switch (kind, value) {
        case (.string, .date(let date)), (.dateTime, .date(let date)):
            if let text = date.rfc3339 { return text }
        case (.hexBinary, .data(let bytes)): return Hexadecimal.text(bytes).uppercased()
        case (_, .data(let bytes)) where kind == .base64Binary || kind == .string:
            return String(decoding: Base64.encode(bytes), as: UTF8.self)
        case (_, .string(let text)): return text
        case (.boolean, .bool(let flag)), (.string, .bool(let flag)): return flag ? "true" : "false"
        case (.integer, _), (.decimal, _), (.double, _), (.string, _):
            if let number = value.int64Value { return String(number) }
            if kind != .integer, let number = value.decimalValue { return number.description }
            if case .decimal(let number) = value, number.isInteger { return number.description }
            if kind != .integer, let number = value.doubleValue { return number.description }
        default: break
        }
        throw SOAPValueProblem(path: path, message: "it is no value of the type \(kind.rawValue)")
    }

    private mutating func writeUntyped(_ value: WireValue, as name: QName, at path: String) throws(SOAPValueProblem) {
        guard depth < XMLElement.maximumDepth else {
            throw SOAPValueProblem(path: path, message: "the value nests too deeply")
        }
        depth += 1
        defer { depth -= 1 }
        switch value {
        case .dictionary(let members):
            writer.begin(name)
            for member in members {
                guard XMLNames.isName(member.key) else {
                    throw SOAPValueProblem(path: path, message: "a member's name is no name of XML")
                }
                for item in member.value.arrayValue ?? [member.value] {
                    try writeUntyped(item, as: QName(member.key, in: name.namespace), at: "\(path).\(member.key)")
                }
            }
            writer.end()
        case .array(let items):
            for item in items { try writeUntyped(item, as: name, at: path) }
        case .null:
            writer.begin(name, [("xsi:nil", "true")])
            writer.end()
        default: writer.element(name, text: try text(value, .string, at: path))
        }
    }
}

/// Names of XML as far as they are taken from values: ASCII letters, digits, `_`, `-` and `.`.
enum XMLNames {
    static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, first == 0x5F || isLetter(first) else { return false }
        return text.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || [0x5F, 0x2D, 0x2E].contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) && byte >= 0x41 }
}
