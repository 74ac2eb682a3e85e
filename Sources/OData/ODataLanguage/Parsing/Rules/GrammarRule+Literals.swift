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
