import AdapterKit

/// What stands for a shape in a schema: a type by its name, or a built-in one with limits (XML Schema 1.0, part 2).
enum SchemaType {
    case named(String)
    case restriction(of: String, facets: [(name: String, value: String)])

    fileprivate static func limited(_ base: String, _ facets: [(name: String, value: String)]) -> SchemaType {
        facets.isEmpty ? .named(base) : .restriction(of: base, facets: facets)
    }
}

extension Shape {
    /// The shape of a list's items, any other shape itself: XML repeats the element.
    var item: Shape {
        if case .list(let item) = self { item } else { self }
    }

    var schemaType: SchemaType {
        switch self {
        case .any, .list: .named("xs:anyType")
        case .bool: .named("xs:boolean")
        case .integer(let limits): limits.schemaType
        case .double: .named("xs:double")
        case .decimal(let scale): .limited("xs:decimal", scale.map { [("fractionDigits", "\($0)")] } ?? [])
        case .string(let limits): limits.schemaType
        case .choice(let texts): .restriction(of: "xs:string", facets: texts.map { ("enumeration", $0) })
        case .date: .named("xs:dateTime")
        case .data: .named("xs:base64Binary")
        case .object(let shape): .named("tns:\(shape.name)")
        }
    }
}

extension IntegerRange {
    /// `xs:int` where 32 bits are enough, since generated clients make their variables from it.
    fileprivate var schemaType: SchemaType {
        let int = Int64(Int32.min)...Int64(Int32.max)
        let isInt = int.contains(range.lowerBound) && int.contains(range.upperBound)
        let whole = isInt ? int : Int64.min...Int64.max
        var facets: [(name: String, value: String)] = []
        if range.lowerBound > whole.lowerBound { facets.append(("minInclusive", "\(range.lowerBound)")) }
        if range.upperBound < whole.upperBound { facets.append(("maxInclusive", "\(range.upperBound)")) }
        return .limited(isInt ? "xs:int" : "xs:long", facets)
    }
}

extension TextLimits {
    fileprivate var schemaType: SchemaType {
        var facets: [(name: String, value: String)] = []
        if minimumLength > 0 { facets.append(("minLength", "\(minimumLength)")) }
        if maximumLength < Self.defaultMaximum { facets.append(("maxLength", "\(maximumLength)")) }
        return .limited("xs:string", facets)
    }
}
