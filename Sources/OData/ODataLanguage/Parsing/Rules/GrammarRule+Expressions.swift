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
