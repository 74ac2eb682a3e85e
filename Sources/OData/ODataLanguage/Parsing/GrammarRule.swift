/// A rule of the OASIS ABNF by its name, so that a text can be held against that rule alone.
///
/// Names are case-insensitive, as in ABNF. What a rule gives is the tree where there is one, and the text where the rule
/// only says how something is written.
public struct GrammarRule: Sendable {
    public let name: String
    let encoding: SourceText.Encoding
    let parse: @Sendable (inout Parser) throws(Parser.Mismatch) -> any Sendable

    typealias Mismatch = Parser.Mismatch

    init(
        _ name: String, _ encoding: SourceText.Encoding = .url,
        _ parse: @escaping @Sendable (inout Parser) throws(Parser.Mismatch) -> any Sendable
    ) {
        self.name = name
        self.encoding = encoding
        self.parse = parse
    }

    /// The rule of a name; nil where there is none.
    public init?(named name: String) {
        guard let rule = Self.table[name.lowercased()] else { return nil }
        self = rule
    }

    public static var allNames: [String] { table.values.map(\.name).sorted() }

    /// What the whole of a text is.
    public func tree(of text: String, limits: LanguageLimits = LanguageLimits()) throws(SyntaxError) -> any Sendable {
        guard text.utf8.count <= limits.length else {
            throw SyntaxError(position: limits.length, expected: "at most \(limits.length) bytes", kind: .limit)
        }
        var parser = Parser(try SourceText(text, as: encoding), limits: limits)
        return try parser.whole(parse)
    }

    private static let table = Dictionary(
        // Cannot trap: names in source code.
        uniqueKeysWithValues: (requests + options + expressions + names + literals + values + shapes + headers + steps)
            .map { ($0.name.lowercased(), $0) })
}

extension GrammarRule {
    /// Sections 1 and 3 of the ABNF: URLs and their paths.
    static let requests: [GrammarRule] = [
        GrammarRule("odataUri") { parser throws(Mismatch) in try parser.absoluteURL() },
        GrammarRule("odataRelativeUri") { parser throws(Mismatch) in try parser.requestTarget() },
        GrammarRule("resourcePath") { parser throws(Mismatch) in try parser.resourcePath() },
        GrammarRule("context", .plain) { parser throws(Mismatch) in try parser.context() },
        GrammarRule("functionParameter") { parser throws(Mismatch) in try parser.namedArgument(.literals) },
        GrammarRule("functionParameters") { parser throws(Mismatch) in try parser.arguments(.literals) },
        GrammarRule("keyPredicate") { parser throws(Mismatch) in try parser.arguments(.literals) },
        GrammarRule("functionExprParameter") { parser throws(Mismatch) in try parser.namedArgument(.expressions) },
        GrammarRule("functionExprParameters") { parser throws(Mismatch) in try parser.arguments(.expressions) },
    ]

    /// Section 8: header fields and preferences.
    static let headers: [GrammarRule] = [
        GrammarRule("header", .plain) { parser throws(Mismatch) in try parser.header() },
        GrammarRule("prefer", .plain) { parser throws(Mismatch) in try parser.header(["Prefer"]) },
        GrammarRule("request-id", .plain) { parser throws(Mismatch) in try parser.requestIdentifier() },
        GrammarRule("asyncresult", .plain) { parser throws(Mismatch) in try parser.header(["AsyncResult"]) },
        GrammarRule("content-id", .plain) { parser throws(Mismatch) in try parser.header(["Content-ID"]) },
        GrammarRule("isolation", .plain) { parser throws(Mismatch) in
            try parser.header(["Isolation", "OData-Isolation"])
        },
        GrammarRule("odata-entityid", .plain) { parser throws(Mismatch) in try parser.header(["OData-EntityID"]) },
        GrammarRule("odata-error", .plain) { parser throws(Mismatch) in try parser.header(["OData-Error"]) },
        GrammarRule("odata-maxversion", .plain) { parser throws(Mismatch) in try parser.header(["OData-MaxVersion"]) },
        GrammarRule("odata-version", .plain) { parser throws(Mismatch) in try parser.header(["OData-Version"]) },
        GrammarRule("preference", .plain) { parser throws(Mismatch) in try parser.preference() },
        GrammarRule("allowEntityReferencesPreference", .plain) { parser throws(Mismatch) in
            try parser.preference("allow-entityreferences")
        },
        GrammarRule("callbackPreference", .plain) { parser throws(Mismatch) in try parser.preference("callback") },
        GrammarRule("continueOnErrorPreference", .plain) { parser throws(Mismatch) in
            try parser.preference("continue-on-error")
        },
        GrammarRule("includeAnnotationsPreference", .plain) { parser throws(Mismatch) in
            try parser.preference("include-annotations")
        },
        GrammarRule("maxpagesizePreference", .plain) { parser throws(Mismatch) in try parser.preference("maxpagesize")
        },
        GrammarRule("omitValuesPreference", .plain) { parser throws(Mismatch) in
            try parser.preference("omit-values", hasPrefix: false)
        },
        GrammarRule("respondAsyncPreference", .plain) { parser throws(Mismatch) in
            try parser.preference("respond-async", hasPrefix: false)
        },
        GrammarRule("returnPreference", .plain) { parser throws(Mismatch) in
            try parser.preference("return", hasPrefix: false)
        },
        GrammarRule("trackChangesPreference", .plain) { parser throws(Mismatch) in
            try parser.preference("track-changes")
        },
        GrammarRule("waitPreference", .plain) { parser throws(Mismatch) in
            try parser.preference("wait", hasPrefix: false)
        },
    ]
}

extension GrammarRule {
    /// Section 2: query options.
    static let options: [GrammarRule] = [
        GrammarRule("queryOptions") { parser throws(Mismatch) in try parser.queryOptions() },
        GrammarRule("queryOption") { parser throws(Mismatch) in try parser.queryOption(.top) },
        GrammarRule("systemQueryOption") { parser throws(Mismatch) in try parser.systemQueryOption() },
        GrammarRule("customQueryOption") { parser throws(Mismatch) in try parser.customOption() },
        GrammarRule("filter") { parser throws(Mismatch) in try parser.option(.filter) },
        GrammarRule("orderby") { parser throws(Mismatch) in try parser.option(.orderby) },
        GrammarRule("select") { parser throws(Mismatch) in try parser.option(.select) },
        GrammarRule("expand") { parser throws(Mismatch) in try parser.option(.expand) },
        GrammarRule("compute") { parser throws(Mismatch) in try parser.option(.compute) },
        GrammarRule("search") { parser throws(Mismatch) in try parser.option(.search) },
        GrammarRule("skip") { parser throws(Mismatch) in try parser.option(.skip) },
        GrammarRule("top") { parser throws(Mismatch) in try parser.option(.top) },
        GrammarRule("index") { parser throws(Mismatch) in try parser.option(.index) },
        GrammarRule("format") { parser throws(Mismatch) in try parser.option(.format) },
        GrammarRule("inlinecount") { parser throws(Mismatch) in try parser.option(.count) },
        GrammarRule("levels") { parser throws(Mismatch) in try parser.option(.levels) },
        GrammarRule("id") { parser throws(Mismatch) in try parser.option(.id) },
        GrammarRule("schemaversion") { parser throws(Mismatch) in try parser.option(.schemaversion) },
        GrammarRule("deltatoken") { parser throws(Mismatch) in try parser.option(.deltatoken) },
        GrammarRule("skiptoken") { parser throws(Mismatch) in try parser.option(.skiptoken) },
        GrammarRule("apply") { parser throws(Mismatch) in try parser.option(.apply) },
        GrammarRule("searchExpr") { parser throws(Mismatch) in try parser.searchExpression() },
        GrammarRule("orderbyItem") { parser throws(Mismatch) in try parser.orderItems() },
        GrammarRule("computeItem") { parser throws(Mismatch) in try parser.computeItems() },
        GrammarRule("selectItem") { parser throws(Mismatch) in try parser.selectItem() },
        GrammarRule("expandItem") { parser throws(Mismatch) in try parser.expandItem() },
        GrammarRule("parameterValue") { parser throws(Mismatch) in try parser.valueInURL() },
    ]

    /// The aggregation extension's.
    static let steps: [GrammarRule] = [
        GrammarRule("applyExpr") { parser throws(Mismatch) in try parser.transformations() },
        GrammarRule("applyTrafo") { parser throws(Mismatch) in try parser.transformations() },
        GrammarRule("aggregateExpr") { parser throws(Mismatch) in try parser.aggregateExpression(aliased: true) },
        GrammarRule("groupingProperty") { parser throws(Mismatch) in try parser.namePath(endingInType: false) },
        GrammarRule("isdefinedExpr") { parser throws(Mismatch) in try parser.expression("`isdefined`", \.isDefinition)
        },
        GrammarRule("aggregateFunctionExpr") { parser throws(Mismatch) in try parser.aggregateExpression(aliased: false)
        },
    ]
}

extension GrammarRule {
    /// Sections 4 and 5: expressions and JSON in URLs.
    static let expressions: [GrammarRule] = [
        GrammarRule("commonExpr") { parser throws(Mismatch) in try parser.expression() },
        GrammarRule("boolCommonExpr") { parser throws(Mismatch) in try parser.expression() },
        GrammarRule("notExpr") { parser throws(Mismatch) in try parser.expression("`not`", \.isNot) },
        GrammarRule("negateExpr") { parser throws(Mismatch) in try parser.expression("`-`", \.isNegated) },
        GrammarRule("methodCallExpr") { parser throws(Mismatch) in try parser.expression("a function", \.isCall) },
        GrammarRule("boolMethodCallExpr") { parser throws(Mismatch) in try parser.expression("a function", \.isCall) },
        GrammarRule("parenExpr") { parser throws(Mismatch) in try parser.expression() },
        GrammarRule("castExpr") { parser throws(Mismatch) in try parser.expression("`cast`", \.isCast) },
        GrammarRule("isofExpr") { parser throws(Mismatch) in try parser.expression("`isof`", \.isTypeTest) },
        GrammarRule("functionExpr") { parser throws(Mismatch) in try parser.expression() },
        GrammarRule("firstMemberExpr") { parser throws(Mismatch) in try parser.memberPath() },
        GrammarRule("memberExpr") { parser throws(Mismatch) in try parser.memberPath() },
        GrammarRule("propertyPathExpr") { parser throws(Mismatch) in try parser.memberPath() },
        GrammarRule("rootExpr") { parser throws(Mismatch) in try parser.memberPath("`$root`") { $0.start == .root } },
        GrammarRule("annotationExpr") { parser throws(Mismatch) in
            try parser.memberPath("`@`") { if case .annotation? = $0.segments.first?.form { true } else { false } }
        },
        GrammarRule("inscopeVariableExpr") { parser throws(Mismatch) in try parser.memberPath() },
        GrammarRule("anyExpr") { parser throws(Mismatch) in try parser.lambdaAlone("any") },
        GrammarRule("allExpr") { parser throws(Mismatch) in try parser.lambdaAlone("all") },
        GrammarRule("arrayOrObject") { parser throws(Mismatch) in try parser.arrayOrObject() },
        GrammarRule("stringInUrl") { parser throws(Mismatch) in try parser.stringInURL() },
    ]

    /// Section 6: names and identifiers.
    static let names: [GrammarRule] = [
        GrammarRule("odataIdentifier") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("namespacePart") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("entitySetName") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("singletonEntity") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("entityTypeName") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("complexTypeName") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("typeDefinitionName") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("enumerationTypeName") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("enumerationMember") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("termName") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("primitiveProperty") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("primitiveKeyProperty") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("primitiveNonKeyProperty") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("primitiveColProperty") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("complexProperty") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("complexColProperty") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("streamProperty") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("navigationProperty") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("entityNavigationProperty") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("entityColNavigationProperty") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("action") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("actionImport") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("function") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("parameterName") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("lambdaVariableExpr") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("computedProperty") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("expressionAlias") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("customAggregate") { parser throws(Mismatch) in try parser.identifier() },
        GrammarRule("qualifiedEntityTypeName") { parser throws(Mismatch) in try parser.qualifiedName() },
        GrammarRule("qualifiedComplexTypeName") { parser throws(Mismatch) in try parser.qualifiedName() },
        GrammarRule("qualifiedTypeDefinitionName") { parser throws(Mismatch) in try parser.qualifiedName() },
        GrammarRule("qualifiedEnumTypeName") { parser throws(Mismatch) in try parser.qualifiedName() },
        GrammarRule("optionallyQualifiedEntityTypeName") { parser throws(Mismatch) in
            try parser.optionallyQualifiedName()
        },
        GrammarRule("optionallyQualifiedComplexTypeName") { parser throws(Mismatch) in
            try parser.optionallyQualifiedName()
        },
        GrammarRule("namespace") { parser throws(Mismatch) in try parser.optionallyQualifiedName() },
        GrammarRule("qualifiedTypeName") { parser throws(Mismatch) in try parser.typeName(qualified: true) },
        GrammarRule("optionallyQualifiedTypeName") { parser throws(Mismatch) in try parser.typeName() },
        GrammarRule("annotationInQuery") { parser throws(Mismatch) in try parser.annotationName() },
        GrammarRule("annotationInFragment", .plain) { parser throws(Mismatch) in try parser.annotationName() },
    ]
}

extension GrammarRule {
    /// Section 7: values as they stand in URLs.
    static let literals: [GrammarRule] = [
        GrammarRule("primitiveLiteral") { parser throws(Mismatch) in try parser.literal() },
        GrammarRule("keyPropertyValue") { parser throws(Mismatch) in try parser.literal() },
        GrammarRule("null") { parser throws(Mismatch) in try parser.nullLiteral() },
        GrammarRule("boolean") { parser throws(Mismatch) in try parser.boolean() },
        GrammarRule("stringLiteral") { parser throws(Mismatch) in try parser.string() },
        GrammarRule("binaryLiteral") { parser throws(Mismatch) in try parser.binary() },
        GrammarRule("durationLiteral") { parser throws(Mismatch) in try parser.quotedDuration(prefixed: false) },
        GrammarRule("enumLiteral") { parser throws(Mismatch) in try parser.optionallyTypedEnumeration() },
        GrammarRule("guid") { parser throws(Mismatch) in try parser.guid() },
        GrammarRule("date") { parser throws(Mismatch) in try parser.date() },
        GrammarRule("timeOfDayLiteral") { parser throws(Mismatch) in try parser.timeOfDay() },
        GrammarRule("dateTimeOffsetLiteral") { parser throws(Mismatch) in try parser.dateTimeOffset() },
        GrammarRule("dateTimeOffsetValueInUrl") { parser throws(Mismatch) in try parser.dateTimeOffset() },
        GrammarRule("decimalLiteral") { parser throws(Mismatch) in try parser.number() },
        GrammarRule("doubleLiteral") { parser throws(Mismatch) in try parser.number() },
        GrammarRule("singleLiteral") { parser throws(Mismatch) in try parser.number() },
        GrammarRule("sbyteLiteral") { parser throws(Mismatch) in try parser.integer(3) },
        GrammarRule("int16Literal") { parser throws(Mismatch) in try parser.integer(5) },
        GrammarRule("int32Literal") { parser throws(Mismatch) in try parser.integer(10) },
        GrammarRule("int64Literal") { parser throws(Mismatch) in try parser.integer(19) },
        GrammarRule("byte") { parser throws(Mismatch) in try parser.integer(3, signed: false) },
    ]

    /// Section 7: values as they stand in payloads.
    static let values: [GrammarRule] = [
        GrammarRule("sbyteValue", .plain) { parser throws(Mismatch) in try parser.integer(3) },
        GrammarRule("int16Value", .plain) { parser throws(Mismatch) in try parser.integer(5) },
        GrammarRule("int32Value", .plain) { parser throws(Mismatch) in try parser.integer(10) },
        GrammarRule("int64Value", .plain) { parser throws(Mismatch) in try parser.integer(19) },
        GrammarRule("byteValue", .plain) { parser throws(Mismatch) in try parser.integer(3, signed: false) },
        GrammarRule("decimalValue", .plain) { parser throws(Mismatch) in try parser.number() },
        GrammarRule("doubleValue", .plain) { parser throws(Mismatch) in try parser.number() },
        GrammarRule("singleValue", .plain) { parser throws(Mismatch) in try parser.number() },
        GrammarRule("booleanValue", .plain) { parser throws(Mismatch) in try parser.booleanValue() },
        GrammarRule("guidValue", .plain) { parser throws(Mismatch) in try parser.guid() },
        GrammarRule("dateValue", .plain) { parser throws(Mismatch) in try parser.date() },
        GrammarRule("dateTimeOffsetValue", .plain) { parser throws(Mismatch) in try parser.dateTimeOffset() },
        GrammarRule("timeOfDayValue", .plain) { parser throws(Mismatch) in try parser.timeOfDay() },
        GrammarRule("durationValue", .plain) { parser throws(Mismatch) in try parser.duration() },
        GrammarRule("binaryValue", .plain) { parser throws(Mismatch) in try parser.binaryValue() },
        GrammarRule("enumValue", .plain) { parser throws(Mismatch) in try parser.enumerationMembers() },
        GrammarRule("primitiveValue", .plain) { parser throws(Mismatch) in try parser.primitiveValue() },
    ]

    /// Section 7: shapes.
    static let shapes: [GrammarRule] = [
        GrammarRule("geographyCollection") { parser throws(Mismatch) in try parser.geography(.collection) },
        GrammarRule("geographyLineString") { parser throws(Mismatch) in try parser.geography(.lineString) },
        GrammarRule("geographyMultiLineString") { parser throws(Mismatch) in try parser.geography(.multiLineString) },
        GrammarRule("geographyMultiPoint") { parser throws(Mismatch) in try parser.geography(.multiPoint) },
        GrammarRule("geographyMultiPolygon") { parser throws(Mismatch) in try parser.geography(.multiPolygon) },
        GrammarRule("geographyPoint") { parser throws(Mismatch) in try parser.geography(.point) },
        GrammarRule("geographyPolygon") { parser throws(Mismatch) in try parser.geography(.polygon) },
        GrammarRule("geometryCollection") { parser throws(Mismatch) in try parser.geometry(.collection) },
        GrammarRule("geometryLineString") { parser throws(Mismatch) in try parser.geometry(.lineString) },
        GrammarRule("geometryMultiLineString") { parser throws(Mismatch) in try parser.geometry(.multiLineString) },
        GrammarRule("geometryMultiPoint") { parser throws(Mismatch) in try parser.geometry(.multiPoint) },
        GrammarRule("geometryMultiPolygon") { parser throws(Mismatch) in try parser.geometry(.multiPolygon) },
        GrammarRule("geometryPoint") { parser throws(Mismatch) in try parser.geometry(.point) },
        GrammarRule("geometryPolygon") { parser throws(Mismatch) in try parser.geometry(.polygon) },
        GrammarRule("fullCollectionLiteral", .plain) { parser throws(Mismatch) in try parser.shapeWithSRID(.collection)
        },
        GrammarRule("fullLineStringLiteral", .plain) { parser throws(Mismatch) in try parser.shapeWithSRID(.lineString)
        },
        GrammarRule("fullMultiLineStringLiteral", .plain) { parser throws(Mismatch) in
            try parser.shapeWithSRID(.multiLineString)
        },
        GrammarRule("fullMultiPointLiteral", .plain) { parser throws(Mismatch) in try parser.shapeWithSRID(.multiPoint)
        },
        GrammarRule("fullMultiPolygonLiteral", .plain) { parser throws(Mismatch) in
            try parser.shapeWithSRID(.multiPolygon)
        },
        GrammarRule("fullPointLiteral", .plain) { parser throws(Mismatch) in try parser.shapeWithSRID(.point) },
        GrammarRule("fullPolygonLiteral", .plain) { parser throws(Mismatch) in try parser.shapeWithSRID(.polygon) },
    ]
}

/// Rules that are one of several that the parser reads alike: the text must be of that one.
extension Parser {
    /// An expression of one form; an operator's left side may be what begins it.
    mutating func expression(
        _ expected: String, _ fits: (Expression.Form) -> Bool
    ) throws(Mismatch) -> Expression {
        let start = at
        let expression = try expression()
        var first = expression
        while case .binary(_, let left, _) = first.form { first = left }
        guard fits(first.form) else { throw noValue(expected, from: start) }
        return expression
    }

    mutating func memberPath(_ expected: String, _ fits: (MemberPath) -> Bool) throws(Mismatch) -> MemberPath {
        let start = at
        let path = try memberPath()
        guard fits(path) else { throw noValue(expected, from: start) }
        return path
    }

    /// One of these header fields.
    mutating func header(_ names: [StaticString]) throws(Mismatch) {
        let start = at
        if !names.contains(where: { skip(word: $0) }) { try expect(word: names[0]) }
        at = start
        try header()
    }

    /// One preference, with or without `odata.` before it.
    mutating func preference(_ name: StaticString, hasPrefix: Bool = true) throws(Mismatch) {
        let start = at
        if hasPrefix { _ = skip(word: "odata.") }
        try expect(word: name)
        at = start
        try preference()
    }
}

extension Expression.Form {
    var isCall: Bool {
        switch self {
        case .call, .cast, .isOf, .choice: true
        default: false
        }
    }

    var isNot: Bool { if case .not = self { true } else { false } }
    var isNegated: Bool { if case .negated = self { true } else { false } }
    var isCast: Bool { if case .cast = self { true } else { false } }
    var isTypeTest: Bool { if case .isOf = self { true } else { false } }
    var isDefinition: Bool { if case .isDefined = self { true } else { false } }
}
