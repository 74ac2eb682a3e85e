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
        GrammarRule("prefer", .plain) { parser throws(Mismatch) in try parser.header() },
        GrammarRule("request-id", .plain) { parser throws(Mismatch) in try parser.requestIdentifier() },
        GrammarRule("asyncresult", .plain) { parser throws(Mismatch) in try parser.header() },
        GrammarRule("content-id", .plain) { parser throws(Mismatch) in try parser.header() },
        GrammarRule("isolation", .plain) { parser throws(Mismatch) in try parser.header() },
        GrammarRule("odata-entityid", .plain) { parser throws(Mismatch) in try parser.header() },
        GrammarRule("odata-error", .plain) { parser throws(Mismatch) in try parser.header() },
        GrammarRule("odata-maxversion", .plain) { parser throws(Mismatch) in try parser.header() },
        GrammarRule("odata-version", .plain) { parser throws(Mismatch) in try parser.header() },
        GrammarRule("preference", .plain) { parser throws(Mismatch) in try parser.preference() },
        GrammarRule("allowEntityReferencesPreference", .plain) { parser throws(Mismatch) in try parser.preference() },
        GrammarRule("callbackPreference", .plain) { parser throws(Mismatch) in try parser.preference() },
        GrammarRule("continueOnErrorPreference", .plain) { parser throws(Mismatch) in try parser.preference() },
        GrammarRule("includeAnnotationsPreference", .plain) { parser throws(Mismatch) in try parser.preference() },
        GrammarRule("maxpagesizePreference", .plain) { parser throws(Mismatch) in try parser.preference() },
        GrammarRule("omitValuesPreference", .plain) { parser throws(Mismatch) in try parser.preference() },
        GrammarRule("respondAsyncPreference", .plain) { parser throws(Mismatch) in try parser.preference() },
        GrammarRule("returnPreference", .plain) { parser throws(Mismatch) in try parser.preference() },
        GrammarRule("trackChangesPreference", .plain) { parser throws(Mismatch) in try parser.preference() },
        GrammarRule("waitPreference", .plain) { parser throws(Mismatch) in try parser.preference() },
    ]
}
