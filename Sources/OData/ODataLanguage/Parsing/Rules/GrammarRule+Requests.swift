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
